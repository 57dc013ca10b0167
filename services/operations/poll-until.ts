import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Reads a value every `everyMs` until `isDone` accepts it, or until `timeoutMs` has passed. Returns the last value, and
 * passes every earlier one to `onPending`.
 */
export async function pollUntil<T>(
  read: () => Promise<T>,
  isDone: (value: T) => boolean,
  {
    everyMs,
    timeoutMs = Infinity,
    onPending,
  }: { everyMs: number; timeoutMs?: number; onPending?: (value: T) => void },
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (isDone(value)) return value;
    const remainingMs = deadline - performance.now();
    if (remainingMs <= 0) return value;
    onPending?.(value);
    await sleep(Math.min(everyMs, remainingMs));
  }
}

/** Reports a line, unless it equals the line before. */
export function reportChanges(report: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    if (line !== last) report(line);
    last = line;
  };
}
