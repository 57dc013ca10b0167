import { facts, factsOf } from '../../../tests/support/facts.ts';
import type { Facts } from '../facts.ts';
import { evaluateRules, verdictOf } from '../findings.ts';

const factsWithTokens = (sharedTokens: Facts['sharedTokens']) =>
  facts([factsOf(1, 'active')], { sharedTokens });
const token: NonNullable<Facts['sharedTokens']>[0] = {
  isBlocked: false,
  hasMore: false,
  candidates: [
    { id: 'key_1', orgId: 'org_a', state: 'archived' },
    { id: 'key_2', orgId: 'org_b', state: 'active' },
  ],
};

test('the first shared tokens are listed with their keys, and the others are counted', () => {
  const refused = factsWithTokens(Array.from({ length: 7 }, () => token));
  const all = evaluateRules(refused);
  expect(all).toHaveLength(6);
  expect(all[0]).toMatchObject({ name: 'shared-tokens', severity: 'attention', blocks: [] });
  expect(all[0]?.text).toContain('it belongs to key_1 of org_a (archived), key_2 of org_b (active). Archive');
  expect(all[5]?.text).toBe('2 further tokens of several keys are refused');
  expect(verdictOf(all, refused).state).toBe('attention');
});

test.each([
  ['a blocked token', { ...token, isBlocked: true }, '(active), and "keys block" has blocked it. Archive'],
  ['a token of many keys', { ...token, hasMore: true }, '(active) and further keys. Archive'],
])('the finding names %s', (_, sharedToken, text) => {
  expect(evaluateRules(factsWithTokens([sharedToken]))[0]?.text).toContain(text);
});

test.each([[[]], [null]])(
  'shared tokens are no finding if there are none or they were not counted: %j',
  (tokens) => {
    expect(evaluateRules(factsWithTokens(tokens))).toEqual([]);
  },
);
