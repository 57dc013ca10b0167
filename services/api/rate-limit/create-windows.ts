import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { createInsuredWindows } from './insured-windows.ts';
import { createMemoryWindows } from './memory-windows.ts';
import { connectSharedWindows } from './shared-windows.ts';
import type { RateLimit, Windows } from './windows.ts';

/** In memory, or in the store at `storeUrl` with memory to fall back on. Does not wait for the store. */
export function createWindows(
  deps: { nowMs: () => number; logger: Logger; fallbacks: Counter },
  { limit, storeUrl }: { limit: RateLimit; storeUrl: string | undefined },
): Windows & { stop: () => void } {
  const memory = createMemoryWindows({ limit, nowMs: deps.nowMs });
  if (!storeUrl || limit.requests === 0) return { ...memory, stop: () => undefined };
  return createInsuredWindows({
    ...deps,
    memory,
    connect: (onLost) => connectSharedWindows(storeUrl, limit, onLost),
  });
}
