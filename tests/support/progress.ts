import type { Admin, RecordMetadata } from 'kafkajs';
import type { Db } from 'mongodb';
import { endOffsets } from '../../infra/sample-data/publish.ts';
import { readSavedPositions } from '../../services/projector/progress/progress.ts';
import { eventually, notYet, type Wait } from './eventually.ts';

/** Offsets by `<topic>/<partition>`. */
export type Offsets = Map<string, number>;

/**
 * The log's end of each partition, once every partition has its leader. A broker that is new to a partition refuses the
 * request until it knows of its leadership.
 */
export async function logEnds(admin: Admin, topics: string[]): Promise<Offsets> {
  const ends: Offsets = new Map();
  await eventually(async () => {
    try {
      for (const [key, end] of await endOffsets(admin, topics)) ends.set(key, end);
      return true;
    } catch (error) {
      // By its name: Node finds no class of kafkajs's errors among the exports.
      const { name, retriable } = error as { name?: string; retriable?: boolean };
      if (name !== 'KafkaJSProtocolError' || retriable !== true) throw error;
      return notYet(error);
    }
  });
  return ends;
}

/**
 * Resolves when the projectors have recorded these offsets as applied; they record about once a second. Rejects if no
 * missing position changes within the limit.
 */
export async function reached(
  control: Db,
  ends: Offsets,
  fatal: () => Error[],
  generation = 1,
  wait: Wait = {},
): Promise<void> {
  let missing = ['nothing is read yet'];
  while (missing.length > 0) {
    const before = missing.join();
    await eventually(
      async () => {
        missing = missingPositions(ends, await readSavedPositions(control, generation));
        return missing.join() !== before || notYet(missing);
      },
      fatal,
      wait,
    );
  }
}

/** Names each partition whose position is below its end, with both. */
function missingPositions(ends: Offsets, positions: Offsets): string[] {
  const missing: string[] = [];
  for (const [key, end] of ends) {
    const position = positions.get(key) ?? 0;
    if (position < end) missing.push(`${key}: ${position} of ${end}`);
  }
  return missing;
}

/**
 * Resolves once consumers of committed records can read past these records. Kafka acknowledges the end of a transaction
 * before each partition has its marker; until then the log ends before the transaction for them, and in `logEnds`.
 */
export async function untilStable(admin: Admin, sent: RecordMetadata[]): Promise<void> {
  const topics = new Set(sent.map(({ topicName }) => topicName));
  await eventually(async () => {
    const ends = await logEnds(admin, [...topics]);
    return sent.every(({ topicName, partition, baseOffset }) => {
      const end = ends.get(`${topicName}/${partition}`) ?? 0;
      return end > Number(baseOffset);
    });
  });
}
