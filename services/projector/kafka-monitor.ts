import { explained } from '../../shared/kafka/errors.ts';
import type { Announcement } from './announce-projector.ts';

export type KafkaMonitor = {
  /** Waits for an answer of Kafka. Announces after ten seconds, and at a failure, that there is none. */
  track: <T>(reading: Promise<T>) => Promise<T>;
};

/** A request that waits for this long without an answer is announced, in milliseconds. */
const silentAfterMs = 10_000;

/**
 * Announces that this process runs, but is cut off from Kafka: its group forgets it and it saves no progress, so that
 * it looks like one that has ended.
 */
export function createKafkaMonitor(
  { set }: Pick<Announcement, 'set'>,
  afterMs: number = silentAfterMs,
): KafkaMonitor {
  const silence = `no answer for ${afterMs / 1_000} s`;
  let lastReason = silence;
  const cutOff = () => set({ state: 'cut_off', reason: lastReason });
  return {
    track: async (reading) => {
      let isAnswered = false;
      // After a stall, the event loop fires timers before it reads an answer that has arrived.
      const timer = setTimeout(() => setImmediate(() => isAnswered || cutOff()), afterMs);
      try {
        const answer = await reading;
        set({ state: 'running', reason: null });
        lastReason = silence;
        return answer;
      } catch (error) {
        lastReason = explained(error);
        cutOff();
        throw error;
      } finally {
        isAnswered = true;
        clearTimeout(timer);
      }
    },
  };
}
