import { decodeCursor, encodeCursor } from './cursor.ts';

const scope = { orgId: 'org_a', list: 'tickets', sort: '-updatedAt', filters: { statuses: ['open'] } };
const key = '2026-01-01T00:00:00.000Zti_\u{1F600}1';
const encode = (payload: unknown) => Buffer.from(JSON.stringify(payload)).toString('base64url');
const [, , fingerprint] = JSON.parse(
  Buffer.from(encodeCursor(key, scope), 'base64url').toString(),
) as unknown[];

describe('a cursor', () => {
  it('returns the sort key when it is used with its list', () => {
    expect(decodeCursor(encodeCursor(key, scope), scope)).toBe(key);
  });

  it.each([
    ['organization', { ...scope, orgId: 'org_b' }],
    ['list', { ...scope, list: 'channels' }],
    ['sort', { ...scope, sort: 'updatedAt' }],
    ['filters', { ...scope, filters: { statuses: [] } }],
  ])('is refused with another %s', (_, other) => {
    expect(() => decodeCursor(encodeCursor(key, scope), other)).toThrow(
      expect.objectContaining({ code: 'invalid_cursor' }) as Error,
    );
  });

  it.each([
    ['nothing', ''],
    ['text that is not base64url', 'a b+/='],
    ['text that is not JSON', Buffer.from('nope').toString('base64url')],
    ['JSON that is not a tuple', encode({})],
    ['another version', encode([2, key, fingerprint])],
    ['no instant in the key', encode([1, 'ti_1', fingerprint])],
    ['no id in the key', encode([1, '2026-01-01T00:00:00.000Z', fingerprint])],
    ['a key with a character that ids cannot contain', encode([1, `${key}\0`, fingerprint])],
    ['a lone surrogate', encode([1, `${key}\ud800`, fingerprint])],
    ['a key that is too long', encode([1, key + 'x'.repeat(300), fingerprint])],
    ['an overlong text', 'A'.repeat(5_000)],
  ])('is refused when it holds %s', (_, cursor) => {
    expect(() => decodeCursor(cursor, scope)).toThrow(
      expect.objectContaining({ code: 'invalid_cursor' }) as Error,
    );
  });
});
