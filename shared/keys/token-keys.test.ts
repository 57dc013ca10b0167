import { type KeyCandidate, resolveToken, sameTokenMax, type TokenOwners } from './token-keys.ts';

const key = (id: string, state: KeyCandidate['state'] = 'active', orgId = 'org_a'): KeyCandidate => ({
  id,
  orgId,
  state,
});
const maxCandidates = Array.from({ length: sameTokenMax }, (_, index) => key(`key_${index}`));
const ownersOf = (candidates: KeyCandidate[]): TokenOwners => ({
  candidates,
  hasMore: false,
  isBlocked: false,
});

describe('a token', () => {
  test.each<[string, KeyCandidate[], string]>([
    ['its only key', [key('key_1')], 'key_1'],
    ['the first of the active keys of one organization', [key('key_1'), key('key_2')], 'key_1'],
    ['the first of the maximum number of keys', maxCandidates, 'key_0'],
  ])('belongs to %s', (_, keys, id) => {
    expect(resolveToken(ownersOf(keys))).toMatchObject({ id });
    expect(resolveToken({ ...ownersOf(keys), isBlocked: true })).toBe('shared_token');
    expect(resolveToken({ ...ownersOf(keys), hasMore: true })).toBe('shared_token');
  });

  test.each<[string, KeyCandidate[], string]>([
    ['no key has', [], 'unknown'],
    ['only an archived key has', [key('key_1', 'archived')], 'unknown'],
    ['only blocked and archived keys have', [key('key_1', 'blocked'), key('key_2', 'archived')], 'unknown'],
    ['an archived key also has', [key('key_1'), key('key_2', 'archived')], 'shared_token'],
    ['a blocked key also has', [key('key_1', 'blocked'), key('key_2')], 'shared_token'],
    ['two organizations have', [key('key_1'), key('key_2', 'active', 'org_b')], 'shared_token'],
    [
      'an archived key of another organization also has',
      [key('key_1'), key('key_2', 'archived', 'org_b')],
      'shared_token',
    ],
  ])('that %s is refused', (_, keys, refusal) => {
    expect(resolveToken(ownersOf(keys))).toBe(refusal);
  });
});
