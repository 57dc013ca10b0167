import { setTimeout as sleep } from 'node:timers/promises';
import { classify, isOfKafka, isTransient } from '../../shared/kafka/errors.ts';
import { retry } from '../../shared/store/retry.ts';

/** A command that waits ends with the error once a read has failed for this long, in milliseconds. */
const failingMaxMs = 60_000;

/** The pause before a failed read is retried, in milliseconds, unless MongoDB is overloaded. */
const failedPauseMs = 1_000;

/**
 * Creates the function with which a waiting command reads. The function retries a failed read for a minute while
 * MongoDB is away or refuses it, because an election or a restart must not end an hour of waiting. It does not retry
 * the first read, because the operator may have made a mistake.
 */
export function createPatientRead(nowMs = () => performance.now()) {
  let hasRead = false;
  return async <T>(read: () => Promise<T>): Promise<T> => {
    const endMs = nowMs() + failingMaxMs;
    const onFailed = (error: unknown) => {
      const isRefusedByMongo = classify(error).errorClass === 'unauthorized' && !isOfKafka(error);
      const mayPass = isTransient(error) || isRefusedByMongo;
      if (!hasRead || !mayPass || nowMs() > endMs) throw error;
    };
    const value = await retry({ pauseMs: failedPauseMs, onFailed }, read);
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
  const deadlineMs = performance.now() + timeoutMs;
  const patientRead = createPatientRead();
  for (;;) {
    const value = await patientRead(read);
    if (isDone(value)) return value;
    const remainingMs = deadlineMs - performance.now();
    if (remainingMs <= 0) return value;
    onPending?.(value);
    await sleep(Math.min(everyMs, remainingMs));
  }
}

/** A line of which only the numbers have changed is reported again after this time, in milliseconds. */
const numbersEveryMs = 15_000;

/**
 * Returns a function that reports a line if its words have changed. If only its numbers have changed, it reports the
 * line once 15 seconds have passed since the last one.
 */
export function reportChanges(
  report: (line: string) => void,
  nowMs = () => performance.now(),
): (line: string) => void {
  let reported = '';
  let reportedAtMs = 0;
  const wordsOf = (line: string) => line.replace(/\d[\d,.:]*/g, '');
  return (line) => {
    if (line === reported) return;
    const hasSameWords = wordsOf(line) === wordsOf(reported);
    if (hasSameWords && nowMs() - reportedAtMs < numbersEveryMs) return;
    reported = line;
    reportedAtMs = nowMs();
    report(line);
  };
}
