import { explained } from '../../shared/kafka/errors.ts';
import { within } from '../../shared/runtime/within.ts';
import type { Announcement } from './announce-projector.ts';

export type KafkaMonitor = {
  /** Waits for an answer of Kafka. Announces a missing answer after ten seconds, and a failure immediately. */
  track: <T>(reading: Promise<T>) => Promise<T>;
};

/** The time after which the monitor announces that a request has no answer, in milliseconds. */
const silentAfterMs = 10_000;

/**
 * Announces that this process runs, but is cut off from Kafka. Otherwise an operator would take it for ended, because
 * its group forgets it, and it saves no progress.
 */
export function createKafkaMonitor(
  { set }: Pick<Announcement, 'set'>,
  afterMs: number = silentAfterMs,
): KafkaMonitor {
  const silence = `no answer for ${afterMs / 1_000} s`;
  let lastReason = silence;
  const announceCutOff = () => set({ state: 'cut_off', reason: lastReason });
  return {
    track: async (reading) => {
      try {
        const answer = await within(afterMs, reading, () => {
          announceCutOff();
          return reading;
        });
        set({ state: 'running', reason: null });
        lastReason = silence;
        return answer;
      } catch (error) {
        lastReason = explained(error);
        announceCutOff();
        throw error;
      }
    },
  };
}
