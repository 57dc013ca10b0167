import { setTimeout as sleep } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { RedisRateLimiter } from './redis-rate-limiter.ts';
import type { RateLimitUsage, RateLimiter } from './rate-limiter.ts';

const retryIntervalMs = 1_000;
const unavailableMessage = 'the rate limit store is unavailable: each replica counts for itself';

type FallbackDeps = {
  connect: (onLost: (error: Error) => void) => Promise<RedisRateLimiter>;
  memory: RateLimiter;
  logger: Logger;
  fallbacks: Counter;
};
type FallbackRateLimiter = RateLimiter & { stop: () => void };

/**
 * Counts in a shared store, and in this process while the store is unavailable, so no request fails or waits for it.
 * Only the requests in progress notice a failure. Reconnecting happens apart from requests, and the store is used again
 * as soon as it answers.
 */
export function createFallbackRateLimiter({
  connect,
  memory,
  logger,
  fallbacks,
}: FallbackDeps): FallbackRateLimiter {
  const stopping = new AbortController();
  let shared: RedisRateLimiter | null = null;
  let isKnownUnavailable = false;

  const warnOnce = (error: unknown) => {
    if (!isKnownUnavailable) logger.warn({ error }, unavailableMessage);
    isKnownUnavailable = true;
  };
  const drop = (failed: RedisRateLimiter, error: unknown) => {
    if (shared !== failed) return;
    shared = null;
    failed.close();
    warnOnce(error);
    void reconnect();
  };
  const reconnect = async () => {
    while (!shared && !stopping.signal.aborted) {
      try {
        const connected = await connect((error) => drop(connected, error));
        shared = connected;
      } catch (error) {
        warnOnce(error);
        await sleep(retryIntervalMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
    if (stopping.signal.aborted) return shared?.close();
    isKnownUnavailable = false;
    logger.info('rate limits are shared');
  };
  const consume = async (key: string): Promise<RateLimitUsage> => {
    const current = shared;
    if (current) {
      try {
        return await current.consume(key);
      } catch (error) {
        drop(current, error);
      }
    }
    fallbacks.inc();
    return memory.consume(key);
  };

  void reconnect();
  return {
    consume,
    stop: () => {
      stopping.abort();
      shared?.close();
    },
  };
}
