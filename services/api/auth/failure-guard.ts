import { createMemoryWindows } from '../rate-limit/memory-windows.ts';
import type { RateLimit, Usage } from '../rate-limit/windows.ts';

/** Limits what each client address may get wrong. */
export type FailureGuard = { take: (address: string) => Usage };

const unguarded: Usage = { admitted: true, remaining: 0, resetMs: 0 };

/** In this process alone. An address beyond the limit is told to wait, unless it sends a valid key. */
export const createFailureGuard = (deps: { limit: RateLimit; nowMs: () => number }): FailureGuard =>
  deps.limit.requests === 0 ? { take: () => unguarded } : createMemoryWindows(deps);
