import { decodeCursor, encodeCursor } from './cursor.ts';

const scope = { orgId: 'org_a', list: 'tickets', sort: '-updatedAt', filters: { statuses: ['open'] } };
const key = '2026-01-01T00:00:00.000Zti_\u{1F600}1';
const encode = (payload: unknown) => Buffer.from(JSON.stringify(payload)).toString('base64url');
const [, , fingerprint] = JSON.parse(
  Buffer.from(encodeCursor(key, scope), 'base64url').toString(),
) as unknown[];

describe('a cursor', () => {
  it('gives back the sort key where its list is continued', () => {
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
    ['no base64url', 'a b+/='],
    ['no JSON', Buffer.from('nope').toString('base64url')],
    ['no tuple', encode({})],
    ['another version', encode([2, key, fingerprint])],
    ['no instant in the key', encode([1, 'ti_1', fingerprint])],
    ['no id in the key', encode([1, '2026-01-01T00:00:00.000Z', fingerprint])],
    ['a key that no id can make', encode([1, `${key}\0`, fingerprint])],
    ['a lone surrogate', encode([1, `${key}\ud800`, fingerprint])],
    ['a key that is too long', encode([1, key + 'x'.repeat(300), fingerprint])],
    ['something far too long', 'A'.repeat(5_000)],
  ])('is refused when it holds %s', (_, cursor) => {
    expect(() => decodeCursor(cursor, scope)).toThrow(
      expect.objectContaining({ code: 'invalid_cursor' }) as Error,
    );
  });
});
