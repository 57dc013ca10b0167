import { LRUCache } from 'lru-cache';
import { ApiError } from './api-error.ts';
import type { Step } from './request-state.ts';

export type RateLimit = {
  /** Requests that one key may make in one window; 0 = no limit. */
  requests: number;
  windowSeconds: number;
};

type Window = { startedMs: number; used: number };

/** Keys whose windows are remembered; beyond it the least recently used one starts afresh. */
const windowsMax = 50_000;

/**
 * A fixed window per key, counted in this process: N replicas together let through up to N times the limit.
 * It is kept here alone, so that a store shared by replicas can take its place.
 */
export function rateLimit({ limit, nowMs }: { limit: RateLimit; nowMs: () => number }): Step {
  const windows = new LRUCache<string, Window>({ max: windowsMax });
  const windowMs = limit.windowSeconds * 1_000;
  return (context, next) => {
    const { caller } = context.state;
    if (limit.requests === 0 || !caller) return next();
    const window = currentWindow(windows, caller.keyId, nowMs(), windowMs);
    window.used += 1;
    const resetSeconds = String(Math.max(1, Math.ceil((window.startedMs + windowMs - nowMs()) / 1_000)));
    context.set('RateLimit-Limit', String(limit.requests));
    context.set('RateLimit-Remaining', String(Math.max(0, limit.requests - window.used)));
    context.set('RateLimit-Reset', resetSeconds);
    if (window.used > limit.requests) {
      throw new ApiError('too_many_requests', { headers: { 'Retry-After': resetSeconds } });
    }
    return next();
  };
}

function currentWindow(
  windows: LRUCache<string, Window>,
  key: string,
  nowMs: number,
  windowMs: number,
): Window {
  const known = windows.get(key);
  if (known && nowMs < known.startedMs + windowMs) return known;
  const fresh = { startedMs: nowMs, used: 0 };
  windows.set(key, fresh);
  return fresh;
}
