import { setTimeout as sleep } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { createMemoryRateLimiter } from './memory-rate-limiter.ts';
import type { RateLimit, RateLimitUsage, RateLimiter } from './rate-limiter.ts';
import { connectRedisRateLimiter, type RateLimitStore, type RedisRateLimiter } from './redis-rate-limiter.ts';

/** The pause after a failure. It doubles with each further one, up to the maximum. */
const pauseMinMs = 1_000;
const pauseMaxMs = 10_000;
/** A connection that lasted this long worked, so its failure is the first one. */
const stableMs = 60_000;
const unavailableMessage = 'the rate limit store is unavailable: each replica counts for itself';

/** Counts in memory; with `store` in that store, with memory as the fallback. Does not wait for the store. */
export function createRateLimiter(
  deps: { nowMs: () => number; logger: Logger; fallbacks: Counter },
  { limit, store }: { limit: RateLimit; store: RateLimitStore | null },
): RateLimiter & { stop: () => void } {
  const memory = createMemoryRateLimiter({ limit, nowMs: deps.nowMs });
  if (!store || limit.requests === 0) return { ...memory, stop: () => undefined };
  return createFallbackRateLimiter({
    ...deps,
    memory,
    connect: (onLost) => connectRedisRateLimiter(store, limit, onLost),
  });
}

type FallbackDeps = {
  connect: (onLost: (error: Error) => void) => Promise<RedisRateLimiter>;
  memory: RateLimiter;
  fallbacks: Counter;
  logger: Logger;
  nowMs: () => number;
  pause?: (ms: number) => Promise<unknown>;
};

/**
 * Counts in a shared store, and in this process while the store is unavailable, so no request fails or waits for it. Only
 * the requests in progress notice a failure: it connects apart from requests, and after each failure only after a pause.
 * So a store that accepts connections but refuses commands gets few connections and log lines, however many requests arrive.
 */
export function createFallbackRateLimiter({
  connect,
  memory,
  fallbacks,
  logger,
  nowMs,
  pause = (ms) => sleep(ms, undefined, { ref: false }),
}: FallbackDeps): RateLimiter & { stop: () => void } {
  let isStopped = false;
  let shared: RedisRateLimiter | null = null;
  let isKnownUnavailable = false;
  let pauseMs = pauseMinMs;
  let connectedMs = 0;

  const retryAfter = async (error: unknown) => {
    if (!isKnownUnavailable) logger.warn({ error }, unavailableMessage);
    isKnownUnavailable = true;
    const ms = pauseMs;
    pauseMs = Math.min(2 * pauseMs, pauseMaxMs);
    await pause(ms);
    if (!isStopped) await connectOnce();
  };
  const drop = (failed: RedisRateLimiter, error: unknown) => {
    if (shared !== failed) return;
    shared = null;
    failed.close();
    if (nowMs() - connectedMs >= stableMs) pauseMs = pauseMinMs;
    void retryAfter(error);
  };
  const connectOnce = async () => {
    try {
      const connected = await connect((error) => drop(connected, error));
      if (isStopped) return connected.close();
      shared = connected;
      connectedMs = nowMs();
      isKnownUnavailable = false;
      logger.info('rate limits are shared');
    } catch (error) {
      void retryAfter(error);
    }
  };
  const consume = async (key: string): Promise<RateLimitUsage> => {
    const used = shared;
    try {
      if (used) return await used.consume(key);
    } catch (error) {
      if (used) drop(used, error);
    }
    fallbacks.inc();
    return memory.consume(key);
  };

  void connectOnce();
  return {
    consume,
    stop: () => {
      isStopped = true;
      shared?.close();
    },
  };
}
