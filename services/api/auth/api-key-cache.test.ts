import type { Caller, TokenRefusal } from '../../../shared/keys/token-keys.ts';
import type { ReadSnapshot } from '../store/read-snapshot.ts';
import { StoreUnavailable } from '../store/store-errors.ts';
import { createApiKeyCache } from './api-key-cache.ts';
import { isToken, tokenShape } from './bearer-token.ts';

const snapshot = (generation: number) => ({ generation }) as ReadSnapshot;
const never = new Promise<never>(() => undefined);
const settled = () => new Promise((resolve) => setImmediate(resolve));
/** The hash of `token`. */
const sha256 = '3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0';

describe('finding the caller of a token', () => {
  const createCache = (answer: { caller: Caller | TokenRefusal }) => {
    const clock = { nowMs: 1_000, lookUpMs: 0, lookUps: [] as string[] };
    const { find } = createApiKeyCache({
      nowMs: () => clock.nowMs,
      lookUp: async (_, hashes) => {
        clock.lookUps.push(...hashes);
        const { caller } = answer;
        clock.nowMs += clock.lookUpMs;
        return new Map(hashes.map((hash) => [hash, caller]));
      },
    });
    return { clock, find };
  };

  test.each([
    ['a known', { keyId: 'key_1', orgId: 'org_a' }, 'unknown'],
    ['an unknown', 'unknown', { keyId: 'key_1', orgId: 'org_a' }],
    ['a shared', 'shared_token', { keyId: 'key_1', orgId: 'org_a' }],
  ] as [string, Caller | TokenRefusal, Caller | TokenRefusal][])(
    'caches %s key for 5 seconds from the start of the query',
    async (_, first, then) => {
      const answer = { caller: first };
      const { clock, find } = createCache(answer);
      clock.lookUpMs = 3_000;
      expect(await find(snapshot(1), 'token')).toEqual(first);
      answer.caller = then;
      clock.nowMs += 2_000;
      expect(await find(snapshot(1), 'token')).toEqual(first);
      clock.nowMs += 1;
      expect(await find(snapshot(1), 'token')).toEqual(then);
    },
  );

  test('rejects an answer older than the cache lifetime, because the key may have been blocked since', async () => {
    const { clock, find } = createCache({ caller: { keyId: 'key_1', orgId: 'org_a' } });
    clock.lookUpMs = 5_000;
    await expect(find(snapshot(1), 'token')).rejects.toThrow(StoreUnavailable);
  });

  test('looks up only the hash of the token, and again in another generation', async () => {
    const { clock, find } = createCache({ caller: { keyId: 'key_1', orgId: 'org_a' } });
    await find(snapshot(1), 'token');
    await find(snapshot(2), 'token');
    expect(clock.lookUps).toEqual([sha256, sha256]);
  });
});

test('clients that guess tokens cause at most one query each 10 ms', async () => {
  const known: Caller = { keyId: 'key_1', orgId: 'org_a' };
  const queries: string[][] = [];
  const pauses: (() => void)[] = [];
  const { find } = createApiKeyCache({
    nowMs: () => 0,
    lookUp: async (_, hashes) => {
      queries.push(hashes);
      return new Map(hashes.includes(sha256) ? [[sha256, known]] : []);
    },
    // The test ends the pauses of 10 ms. Any other pause never ends, so no query counts as overdue.
    pause: (ms) => (ms === 10 ? new Promise<void>((resolve) => pauses.push(resolve)) : never),
  });
  const first = snapshot(1);
  expect(await find(first, 'guess 1')).toBe('unknown');
  const callers = Promise.all(['guess 2', 'token', 'guess 2'].map((token) => find(first, token)));
  await settled();
  expect({ queries: queries.length, pauses: pauses.length }).toEqual({ queries: 1, pauses: 1 });
  pauses[0]?.();
  expect(await callers).toEqual(['unknown', known, 'unknown']);
  expect(queries[1]).toHaveLength(2);
  expect(await find(snapshot(2), 'token')).toBe(known);
  await settled();
  expect(pauses).toHaveLength(2);
});

test('slow look-ups do not use up the connections that snapshots need', async () => {
  let inProgress = 0;
  const { find } = createApiKeyCache({
    nowMs: () => 0,
    lookUp: () => {
      inProgress += 1;
      return never;
    },
    pause: async () => undefined,
  });
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  const callers = Array.from({ length: 9 }, (_, index) => find(snapshot(index), `token ${index}`));
  const outcomes = Promise.allSettled(callers);
  await settled();
  expect(inProgress).toBe(2);
  await jest.advanceTimersByTimeAsync(60_000);
  jest.useRealTimers();
  expect((await outcomes).map(({ status }) => status)).toEqual(callers.map(() => 'rejected'));
});

describe('the shape of a token', () => {
  test.each([
    ['svc_live_a', true],
    ['svc_test_A-1_~', true],
    ['svc_live_', false],
    ['svc_dev_a', false],
    ['other_live_a', false],
    [' svc_live_a', false],
    ['svc_live_a b', false],
    ['svc_live_\u00e9', false],
    ['svc_live_a\n', false],
    [`svc_live_${'a'.repeat(600)}`, false],
  ])('%j: %s', (token, expected) => {
    expect(isToken(tokenShape('svc'), token)).toBe(expected);
  });
});
