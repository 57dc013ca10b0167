import { setTimeout as sleep } from 'node:timers/promises';
import { classify, isTransient } from '../../shared/kafka/errors.ts';
import { retry } from '../../shared/store/retry.ts';

/** A command that waits fails once MongoDB has refused a read for this long, in milliseconds. */
const refusedMaxMs = 60_000;

/** The pause before a refused read is repeated, in milliseconds, unless MongoDB is overloaded. */
const refusedPauseMs = 1_000;

/**
 * For a command that reads again and again: runs each read, and repeats it while MongoDB is away or refuses it, for a
 * minute at most. It never repeats the first read, whose refusal may be the operator's mistake.
 */
export function createPatience(nowMs = () => performance.now()) {
  let hasRead = false;
  return async <T>(read: () => Promise<T>): Promise<T> => {
    const endMs = nowMs() + refusedMaxMs;
    const onFailed = (error: unknown) => {
      const { is, of } = classify(error);
      const mayPass = isTransient(error) || (is === 'refuses-us' && of === 'store');
      if (!hasRead || !mayPass || nowMs() > endMs) throw error;
    };
    const value = await retry({ pauseMs: refusedPauseMs, onFailed }, read);
    hasRead = true;
    return value;
  };
}

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
  const patiently = createPatience();
  for (;;) {
    const value = await patiently(read);
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
  let last = '';
  let lastMs = 0;
  const words = (line: string) => line.replace(/\d[\d,.:]*/g, '');
  return (line) => {
    if (line === last || (words(line) === words(last) && nowMs() - lastMs < numbersEveryMs)) return;
    last = line;
    lastMs = nowMs();
    report(line);
  };
}
