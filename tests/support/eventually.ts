import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { size } from './long.ts';

export type Wait = {
  /** Rejects the wait after this time, and names the condition. */
  limitMs?: number;
  pollMs?: number;
};

/**
 * Waits until the condition returns `true`; anything else that it returns is printed if the wait ends at its limit.
 * Rejects at once if the condition throws, and with the first error that `fatal` returns.
 */
export async function eventually(
  condition: () => unknown,
  fatal: () => Error[] = () => [],
  { limitMs = size(60_000, 150_000), pollMs = 50 }: Wait = {},
): Promise<void> {
  const startMs = performance.now();
  for (;;) {
    const [error] = fatal();
    if (error) throw error;
    const seen = await condition();
    if (seen === true) return;
    if (performance.now() - startMs > limitMs) {
      throw new Error(
        `after ${limitMs / 1_000} s not true, but ${inspect(seen, { depth: 4 })}: ${condition.toString()}`,
      );
    }
    await sleep(pollMs);
  }
}
