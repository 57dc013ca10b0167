import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until the condition holds. Rejects with the first error that `fatal` returns; the test's own time limit ends
 * a wait that never succeeds.
 */
export async function eventually(
  condition: () => Promise<boolean> | boolean,
  fatal: () => Error[] = () => [],
  pollMs = 50,
): Promise<void> {
  for (;;) {
    const [error] = fatal();
    if (error) throw error;
    if (await condition()) return;
    await sleep(pollMs);
  }
}
