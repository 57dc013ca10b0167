import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import { progressOf, watermark } from '../../../shared/runtime/generation.ts';

/** How far a partition was applied at one moment: what is recorded is what is then committed. */
export type Snapshot = {
  topic: string;
  partition: number;
  position: number;
  appliedToMs: number | null;
  /** See `Watched` in liveness.ts. */
  touches: number;
};

const idOf = (generation: number, topic: string, partition: number) => `${generation}/${topic}/${partition}`;

/**
 * The ends of each partition of the topics, by `<topic>/<partition>`: of what a reader of committed records is
 * given, so that those of an open transaction count from its commit on.
 */
export async function endOffsets(
  admin: Admin,
  topics: string[],
): Promise<Map<string, { low: number; end: number }>> {
  const ends = new Map<string, { low: number; end: number }>();
  await Promise.all(
    topics.map(async (topic) => {
      for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
        ends.set(`${topic}/${partition}`, { low: Number(low), end: Number(high) });
      }
    }),
  );
  return ends;
}

/**
 * Makes every partition of the topics known to the watermark. One that is new starts at the watermark of this
 * moment: what was published on it before is within the lateness that is allowed for.
 */
export async function announcePartitions(
  control: Db,
  generation: number,
  keys: string[],
  now: Date,
): Promise<void> {
  const completeTo = (await watermark(control, generation)) ?? new Date(0);
  await progressOf(control).bulkWrite(
    // In one order, as several projectors make the same ones known at once.
    keys.toSorted().map((key) => {
      const [topic = '', partition = '0'] = [
        key.slice(0, key.lastIndexOf('/')),
        key.slice(key.lastIndexOf('/') + 1),
      ];
      const fresh = {
        generation,
        topic,
        partition: Number(partition),
        position: 0,
        end: 0,
        completeTo,
        updatedAt: now,
      };
      const filter = { _id: idOf(generation, topic, Number(partition)) };
      return { updateOne: { filter, update: { $setOnInsert: fresh }, upsert: true } };
    }),
    { ordered: false },
  );
}

/** How far each partition had been applied, by `<topic>/<partition>`, as last recorded by any projector. */
export async function recordedPositions(control: Db, generation: number): Promise<Map<string, number>> {
  const documents = await progressOf(control).find({ generation }).toArray();
  return new Map(documents.map(({ topic, partition, position }) => [`${topic}/${partition}`, position]));
}

/**
 * Records how far the partitions have been applied, and the instant up to which each is complete: `asOf`, an
 * instant before `ends` was read, where it is caught up; else the last applied event's time; less the
 * allowance. Neither ever moves backwards, whoever writes.
 */
export async function recordProgress(
  deps: { control: Db; generation: number; allowanceMs: number },
  partitions: Snapshot[],
  ends: Map<string, { end: number }>,
  asOf: Date,
): Promise<void> {
  const operations = partitions.map(({ topic, partition, position, appliedToMs }) => {
    // One that came after the ends were read may have any number of records.
    const end = ends.get(`${topic}/${partition}`)?.end;
    const isCaughtUp = end !== undefined && position >= end;
    const completeToMs = isCaughtUp ? asOf.getTime() : Math.min(appliedToMs ?? 0, asOf.getTime());
    const completeTo = new Date(Math.max(0, completeToMs - deps.allowanceMs));
    const update = {
      $set: {
        generation: deps.generation,
        topic,
        partition,
        end: Math.max(end ?? 0, position),
        updatedAt: asOf,
      },
      $max: { position, completeTo },
    };
    return { updateOne: { filter: { _id: idOf(deps.generation, topic, partition) }, update, upsert: true } };
  });
  if (operations.length > 0) await progressOf(deps.control).bulkWrite(operations, { ordered: false });
}
