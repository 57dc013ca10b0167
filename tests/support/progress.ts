import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import { endOffsets, recordedPositions } from '../../services/projector/consumer/progress.ts';
import { eventually } from './eventually.ts';

/** Offsets by `<topic>/<partition>`. */
export type Offsets = Map<string, number>;

/**
 * The log's end of each partition, once every partition has its leader. A broker that is new to a partition refuses
 * the request until it knows that it leads it.
 */
export async function logEnds(admin: Admin, topics: string[]): Promise<Offsets> {
  for (;;) {
    try {
      const offsets = await endOffsets(admin, topics);
      return new Map([...offsets].map(([key, { end }]) => [key, end]));
    } catch (error) {
      // By its name: Node finds no class of kafkajs's errors among the exports.
      const { name, retriable } = error as { name?: string; retriable?: boolean };
      if (name !== 'KafkaJSProtocolError' || retriable !== true) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Resolves when the projectors have recorded these offsets as applied; they record about once a second. */
export const reached = (control: Db, ends: Offsets, fatal: () => Error[], generation = 1): Promise<void> =>
  eventually(async () => {
    const positions = await recordedPositions(control, generation);
    return [...ends].every(([key, end]) => (positions.get(key) ?? 0) >= end);
  }, fatal);
