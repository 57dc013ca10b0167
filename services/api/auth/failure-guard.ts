import { createMemoryWindows } from '../rate-limit/memory-windows.ts';
import type { RateLimit, Usage } from '../rate-limit/windows.ts';

/** Limits what each client address may get wrong. */
export type FailureGuard = { take: (address: string) => Usage; giveBack: (address: string) => Usage };

const unguarded: Usage = { admitted: true, remaining: 0, resetMs: 0 };

/** In this process alone: what it protects is this replica and its share of the store. */
export const createFailureGuard = (deps: { limit: RateLimit; nowMs: () => number }): FailureGuard =>
  deps.limit.requests === 0
    ? { take: () => unguarded, giveBack: () => unguarded }
    : createMemoryWindows(deps);
