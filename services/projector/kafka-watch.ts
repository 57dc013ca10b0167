import { explained } from '../../shared/kafka/errors.ts';
import type { WaitingReport } from './waiting-report.ts';

export type KafkaWatch = {
  /** Waits for an answer of Kafka. Reports every ten seconds, and at a failure, that there is none. */
  watch: <T>(reading: Promise<T>) => Promise<T>;
};

/** The least age of a request that is reported, and the time until it is reported again, in milliseconds. */
const reportEveryMs = 10_000;

/**
 * Tells operators that this process runs, but is cut off from Kafka: its group forgets it and it saves no progress, so
 * that it looks like one that has ended. `now` is MongoDB's clock.
 */
export function createKafkaWatch(
  report: WaitingReport,
  now: () => Date,
  everyMs: number = reportEveryMs,
): KafkaWatch {
  // Also an entry of an earlier process with the same host and number, or of this start.
  let isReported = true;
  const silence = `no answer for ${everyMs / 1_000} s`;
  let lastReason = silence;
  const tell = () => {
    isReported = true;
    void report.store('cut_off', lastReason);
  };
  return {
    watch: async (reading) => {
      let isAnswered = false;
      // After a stall, the event loop fires timers before it reads an answer that has arrived.
      const tellSilence = () => setImmediate(() => isAnswered || tell());
      const timer = setInterval(tellSilence, everyMs);
      try {
        const answer = await reading;
        if (isReported) void report.clear(now());
        isReported = false;
        lastReason = silence;
        return answer;
      } catch (error) {
        lastReason = explained(error);
        tell();
        throw error;
      } finally {
        isAnswered = true;
        clearInterval(timer);
      }
    },
  };
}
