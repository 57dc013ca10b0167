import { type CommandParser, createClient, defineScript } from '@redis/client';
import { withDeadline } from '../store/deadline.ts';
import type { RateLimit, RateLimiter } from './rate-limiter.ts';

export type RateLimitStore = {
  url: string;
  /** How long a request waits for the store before it falls back to memory, in milliseconds. */
  timeoutMs: number;
  /** `DATABASE_NAME` separates the counts of deployments that share the store. The name has no colon. */
  database: string;
};

export type RedisRateLimiter = RateLimiter & { close: () => void };

const connectTimeoutMs = 2_000;

/**
 * The limiter counts this key when it connects, to find whether the store accepts the script. No API key has an empty
 * id.
 */
const probeKey = '';

/**
 * The store runs this script atomically for each request. A sorted set contains the counted instants, in
 * microseconds of the store's own clock, so the clocks of the replicas do not matter. The set expires with its newest
 * member.
 *
 * `KEYS[1]` is the key; `ARGV` are the window in seconds and the limit. Returns the number of counted requests (limit
 * + 1 if this one was refused), and the milliseconds until the oldest counted request expires, or, after a refusal,
 * until the next request is admitted. Needs Redis 6, or any Valkey.
 */
const script = `
local window, limit = tonumber(ARGV[1]) * 1000000, tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local used = redis.call('ZCARD', KEYS[1])
-- The rank of the request whose expiry brings the count below the limit. It is above 0 after the limit was lowered.
local expiring = 0
if used < limit then
  -- Requests of the same microsecond count as different members.
  local instant = now
  while redis.call('ZADD', KEYS[1], 'NX', instant, string.format('%.0f', instant)) == 0 do
    instant = instant + 1
  end
  redis.call('PEXPIRE', KEYS[1], window / 1000)
  used = used + 1
else
  expiring = used - limit
  used = limit + 1
end
local countedAt = redis.call('ZRANGE', KEYS[1], expiring, expiring, 'WITHSCORES')[2]
return { used, math.ceil((countedAt + window - now) / 1000) }
`;

const slidingLog = defineScript({
  SCRIPT: script,
  NUMBER_OF_KEYS: 1,
  parseCommand: (parser: CommandParser, key: string, windowSeconds: number, limit: number) => {
    parser.pushKey(key);
    parser.push(String(windowSeconds), String(limit));
  },
  transformReply: ([used, resetMs]: [number, number]) => ({ used, resetMs }),
});

/**
 * Connects to Redis or Valkey. Rejects if the store refuses the script, for example because the store is a replica, or
 * its user in `url` may not run scripts. Does not connect again: `onError` receives each error of the connection, and
 * the caller closes it.
 */
export async function connectRedisRateLimiter(
  { url, timeoutMs, database }: RateLimitStore,
  limit: RateLimit,
  onError: (error: unknown) => void,
): Promise<RedisRateLimiter> {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    scripts: { slidingLog },
    socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: false },
  });
  client.on('error', onError);
  const close = () => {
    if (client.isOpen) client.destroy();
  };
  const consume = async (key: string, requestsMax = limit.requests) => {
    const counting = client.slidingLog(`rate:${database}:${key}`, limit.windowSeconds, requestsMax);
    const { used, resetMs } = await withDeadline(counting, timeoutMs);
    return { admitted: used <= requestsMax, remaining: Math.max(0, requestsMax - used), resetMs };
  };
  try {
    await withDeadline(client.connect(), connectTimeoutMs);
    await consume(probeKey, 1);
  } catch (error) {
    close();
    throw error;
  }
  return { consume, close };
}
