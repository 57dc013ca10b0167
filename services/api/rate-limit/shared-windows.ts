import { createClient } from '@redis/client';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { withDeadline } from '../store/deadline.ts';
import { slidingLog } from './sliding-log.ts';
import type { RateLimit, Usage, Windows } from './windows.ts';

/** A connection to the shared store; once it has failed or been closed it is not used again. */
export type SharedWindows = Windows & { close: () => void };

/** How long the store may take to answer, in milliseconds: a request rather goes on without it. */
const answerTimeoutMs = 250;
const connectTimeoutMs = 2_000;

/** Connects to Redis or Valkey; `onLost` is called at most once, when the connection breaks by itself. */
export async function connectSharedWindows(
  url: string,
  { requests, windowSeconds }: RateLimit,
  onLost: (error: Error) => void,
): Promise<SharedWindows> {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: false },
  });
  const close = () => {
    client.removeAllListeners().on('error', () => undefined);
    if (client.isOpen) client.destroy();
  };
  // Without a listener an error would end the process; the first one also rejects `connect`.
  client.on('error', () => undefined);
  try {
    await withDeadline(client.connect(), connectTimeoutMs);
  } catch (error) {
    close();
    throw error;
  }
  client.once('error', (error: Error) => {
    close();
    onLost(error);
  });
  const limiter = new RateLimiterRedis({
    storeClient: client,
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    keyPrefix: 'rate',
    points: requests,
    duration: windowSeconds,
    customIncrTtlLuaScript: slidingLog,
  });
  return {
    take: (key) => withDeadline(limiter.consume(key).then(usageOf, refusalOf), answerTimeoutMs),
    giveBack: (key) => withDeadline(limiter.reward(key).then(usageOf), answerTimeoutMs),
    close,
  };
}

const usageOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes): Usage => ({
  admitted: true,
  remaining: remainingPoints,
  resetMs: msBeforeNext,
});

/** The library rejects with the window when the limit is reached, and with an error when the store fails. */
function refusalOf(reason: unknown): Usage {
  if (!(reason instanceof RateLimiterRes)) throw reason;
  return { ...usageOf(reason), admitted: false };
}
