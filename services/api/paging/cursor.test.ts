import { decodeCursor, encodeCursor } from './cursor.ts';

const scope = { orgId: 'org_a', list: 'tickets', sort: '-updatedAt', filters: { statuses: ['open'] } };
const key = '2026-01-01T00:00:00.000Zti_\u{1F600}1';
const encode = (payload: unknown) => Buffer.from(JSON.stringify(payload)).toString('base64url');
const [, , fingerprint] = JSON.parse(
  Buffer.from(encodeCursor(key, scope), 'base64url').toString(),
) as unknown[];

describe('a cursor', () => {
  test.each([
    ['no text', ''],
    ['text that is not base64url', 'a b+/='],
    ['text that is not JSON', Buffer.from('nope').toString('base64url')],
    ['JSON that is not a tuple', encode({})],
    ['another version', encode([2, key, fingerprint])],
    ['no instant in the key', encodeCursor('ti_1', scope)],
    ['no id in the key', encodeCursor('2026-01-01T00:00:00.000Z', scope)],
    ['a key with a character that ids cannot contain', encodeCursor(`${key}\0`, scope)],
    ['a lone surrogate', encodeCursor(`${key}\ud800`, scope)],
    ['a key that is too long', encodeCursor(key + 'x'.repeat(300), scope)],
  ])('is refused if it contains %s', (_, cursor) => {
    expect(() => decodeCursor(cursor, scope)).toThrow(
      expect.objectContaining({ code: 'invalid_cursor' }) as Error,
    );
  });
});
