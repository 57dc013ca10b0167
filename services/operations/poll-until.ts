import { setTimeout as sleep } from 'node:timers/promises';

type Polling<T> = { everyMs: number; timeoutMs?: number; onPending?: (value: T) => void };

/**
 * Reads a value every `everyMs` until `isDone` accepts it, or until `timeoutMs` has passed. Returns the last value, and
 * passes every earlier one to `onPending`.
 */
export async function pollUntil<T>(
  read: () => Promise<T>,
  isDone: (value: T) => boolean,
  { everyMs, timeoutMs = Infinity, onPending }: Polling<T>,
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

/** While only its numbers change, a line is reported again after this time, in milliseconds. */
const numbersEveryMs = 15_000;

/** Reports a line once its words have changed, or its numbers have changed for some seconds. */
export function reportChanges(
  report: (line: string) => void,
  nowMs = () => performance.now(),
): (line: string) => void {
  let [last, lastMs] = ['', 0];
  const words = (line: string) => line.replace(/\d[\d,.:]*/g, '');
  return (line) => {
    if (line === last || (words(line) === words(last) && nowMs() - lastMs < numbersEveryMs)) return;
    [last, lastMs] = [line, nowMs()];
    report(line);
  };
}
