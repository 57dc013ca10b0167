import { EventEmitter } from 'node:events';
import type { ApiKeyCache } from '../auth/api-key-cache.ts';
import { createRefuseKey } from '../auth/refuse-key.ts';
import { createCounts } from '../counts.ts';
import { ApiError } from '../http/api-error.ts';
import type { Context } from '../http/context.ts';
import type { MemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';
import type { ReadSnapshot } from '../store/read-snapshot.ts';
import { StoreUnavailable } from '../store/store-errors.ts';
import { authenticate } from './authenticate.ts';
import { pinSnapshot } from './pin-snapshot.ts';
import { requireToken } from './require-token.ts';

type Given = {
  leaves?: boolean;
  find?: () => Promise<object | string>;
  consume?: () => void;
  dataAsOf?: Date;
};

const caller = { orgId: 'org_1', keyId: 'key_1' };

/**
 * Authenticates a request whose client leaves, or not, while the snapshot is read; `after` are the counts at its end.
 */
async function authenticateRequest({
  leaves = false,
  find = async () => caller,
  consume = () => undefined,
  dataAsOf = new Date(),
}: Given) {
  const res = Object.assign(new EventEmitter(), { closed: false });
  const context = {
    req: { socket: {}, headers: { authorization: `Bearer svc_live_${'a'.repeat(32)}` } },
    res,
    set: () => undefined,
    state: {},
  };
  const generationsInUse = createCounts<number>();
  const refuseKey = createRefuseKey({
    authFailures: { consume } as unknown as MemoryRateLimiter,
    counted: { inc: () => undefined },
    trustedProxies: [],
  });
  const snapshots = {
    current: async () => {
      res.closed = leaves;
      if (leaves) res.emit('close');
      return { generation: 1, dataAsOf } as ReadSnapshot;
    },
  };
  const apiKeys = { find } as ApiKeyCache;
  const middleware = [
    requireToken({ keyPrefix: 'svc', refuseKey }),
    pinSnapshot({ snapshots, generationsInUse }),
    authenticate({ apiKeys, refuseKey, requireCollections: async () => undefined }),
  ];
  let isPassedOn = false;
  const run = async (step: number): Promise<void> => {
    const next = middleware[step];
    if (next) await next(context as unknown as Context, () => run(step + 1));
    else isPassedOn = true;
  };
  await run(0);
  const counts = generationsInUse.entries();
  res.emit('close');
  return { isPassedOn, counts, after: generationsInUse.entries() };
}

test('a request counts as a reader of its generation until it ends', async () => {
  expect(await authenticateRequest({})).toEqual({ isPassedOn: true, counts: [[1, 1]], after: [] });
});

test('a request whose client has left does not count as a reader, so a drop does not wait for it', async () => {
  expect(await authenticateRequest({ leaves: true })).toEqual({ isPassedOn: false, counts: [], after: [] });
});

test('a failed look-up of a key is an error of MongoDB and not of the address', async () => {
  const consume = jest.fn();
  const find = () => Promise.reject(new Error('away'));
  await expect(authenticateRequest({ find, consume })).rejects.toThrow('away');
  expect(consume).not.toHaveBeenCalled();
});

test('an unknown key gets 503 until the first load is complete', async () => {
  const consume = jest.fn(() => ({ admitted: true }));
  const unknown = { find: async () => 'unknown', consume };
  await expect(authenticateRequest({ ...unknown, dataAsOf: new Date(0) })).rejects.toThrow(StoreUnavailable);
  expect(consume).not.toHaveBeenCalled();
  await expect(authenticateRequest(unknown)).rejects.toThrow(ApiError);
});
