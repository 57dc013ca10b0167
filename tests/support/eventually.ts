import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { size } from './long.ts';

export type Wait = {
  /** Rejects the wait after this time, and names the condition. */
  limitMs?: number;
  pollMs?: number;
};

/** The observation of a condition that is not yet true. */
type NotYet = { seen: unknown };

/** The result of a condition that is not yet true. The wait prints `seen` if it ends at its limit. */
export const notYet = (seen: unknown): NotYet => ({ seen });

/** Whether a promise resolves. The wait prints the error of one that rejects. */
export const succeeds = (promise: Promise<unknown>): Promise<true | NotYet> =>
  promise.then(() => true as const, notYet);

type Condition = () => boolean | NotYet | Promise<boolean | NotYet>;

/**
 * Waits until the condition returns `true`. Rejects at once if the condition throws, and with the first error that
 * `fatal` returns.
 */
export async function eventually(
  condition: Condition,
  fatal: () => Error[] = () => [],
  { limitMs = size(60_000, 150_000), pollMs = 50 }: Wait = {},
): Promise<void> {
  const startMs = performance.now();
  for (;;) {
    const [error] = fatal();
    if (error) throw error;
    const result = await condition();
    if (result === true) return;
    if (performance.now() - startMs > limitMs) {
      const seen = result === false ? '' : `, but ${inspect(result.seen, { depth: 4 })}`;
      throw new Error(`after ${limitMs / 1_000} s not true${seen}: ${condition.toString()}`);
    }
    await sleep(pollMs);
  }
}
