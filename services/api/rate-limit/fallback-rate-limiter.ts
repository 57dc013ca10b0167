import { setTimeout as sleep } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { RedisRateLimiter } from './redis-rate-limiter.ts';
import type { Usage, RateLimiter } from './rate-limiter.ts';

/** How often a store that is away is tried again, in milliseconds. */
const retryIntervalMs = 1_000;
const awayMessage = 'the rate limit store is away: each replica counts for itself';

type InsuredDeps = {
  connect: (onLost: (error: Error) => void) => Promise<RedisRateLimiter>;
  memory: RateLimiter;
  logger: Logger;
  fallbacks: Counter;
};
type Insured = RateLimiter & { stop: () => void };

/**
 * Windows in a shared store, and in this process while that is away: no request fails or waits for it. A
 * failure is noticed once, by the requests then under way; from there on the store is tried apart from them,
 * and used again as soon as it answers.
 */
export function createFallbackRateLimiter({ connect, memory, logger, fallbacks }: InsuredDeps): Insured {
  const stopping = new AbortController();
  let shared: RedisRateLimiter | null = null;
  let isKnownAway = false;

  const away = (error: unknown) => {
    if (!isKnownAway) logger.warn({ error }, awayMessage);
    isKnownAway = true;
  };
  const lose = (lost: RedisRateLimiter, error: unknown) => {
    if (shared !== lost) return;
    shared = null;
    lost.close();
    away(error);
    void reconnect();
  };
  const reconnect = async () => {
    while (!shared && !stopping.signal.aborted) {
      try {
        const opened = await connect((error) => lose(opened, error));
        shared = opened;
      } catch (error) {
        away(error);
        await sleep(retryIntervalMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
    if (stopping.signal.aborted) return shared?.close();
    isKnownAway = false;
    logger.info('rate limits are shared');
  };
  const consume = async (key: string): Promise<Usage> => {
    const used = shared;
    if (used) {
      try {
        return await used.consume(key);
      } catch (error) {
        lose(used, error);
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
