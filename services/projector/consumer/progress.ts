import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import { progressOf, watermark } from '../../../shared/store/generations.ts';
import { createCompleteness } from './complete-to.ts';

/** How far a partition was applied at one moment: what is recorded is what is then committed. */
export type Snapshot = {
  topic: string;
  partition: number;
  position: number;
  appliedToMs: number | null;
  /** Of the oldest record that was fetched and waits; null where none does. */
  waitingSinceMs: number | null;
  /** See `Watched` in liveness.ts. */
  progressCount: number;
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

export type Recorder = {
  /**
   * Records how far the partitions have been applied, and the instant up to which each is complete, less the
   * allowance: see `createCompleteness`. `asOf` is an instant before `ends` was read. Nothing recorded ever moves
   * backwards, whoever writes.
   */
  record: (partitions: Snapshot[], ends: Map<string, { end: number }>, asOf: Date) => Promise<void>;
};

/**
 * Records progress, once a turn. Partitions that are caught up and stand where they stood share one update, so that
 * an idle projector costs the store one command.
 */
export function createRecorder(deps: { control: Db; generation: number; allowanceMs: number }): Recorder {
  const completeToMs = createCompleteness();
  // Positions as last recorded, of the partitions that were caught up.
  let idleAt = new Map<string, number>();
  const lessAllowance = (ms: number) => new Date(Math.max(0, ms - deps.allowanceMs));

  const recordEach = async (
    standings: { at: Snapshot; end: number | undefined; ms: number }[],
    asOf: Date,
  ) => {
    const operations = standings.map(({ at: { topic, partition, position }, end, ms }) => {
      const update = {
        $set: { generation: deps.generation, topic, partition, updatedAt: asOf },
        $max: { position, end: Math.max(end ?? 0, position), completeTo: lessAllowance(ms) },
      };
      return {
        updateOne: { filter: { _id: idOf(deps.generation, topic, partition) }, update, upsert: true },
      };
    });
    if (operations.length > 0) await progressOf(deps.control).bulkWrite(operations, { ordered: false });
  };
  const recordIdle = async (ids: string[], asOf: Date): Promise<boolean> => {
    if (ids.length === 0) return true;
    const update = { $set: { updatedAt: asOf }, $max: { completeTo: lessAllowance(asOf.getTime()) } };
    const { matchedCount } = await progressOf(deps.control).updateMany({ _id: { $in: ids } }, update);
    return matchedCount === ids.length;
  };

  return {
    record: async (partitions, ends, asOf) => {
      const standings = partitions.map((at) => {
        const id = idOf(deps.generation, at.topic, at.partition);
        // One that came after the ends were read may have any number of records.
        const end = ends.get(`${at.topic}/${at.partition}`)?.end;
        const isCaughtUp = end !== undefined && at.position >= end;
        return { id, at, end, isCaughtUp, ms: completeToMs(at, end, asOf.getTime()) };
      });
      const before = idleAt;
      // Until all is recorded, nothing counts as recorded.
      idleAt = new Map();
      const idle = standings.filter(({ id, at, isCaughtUp }) => isCaughtUp && before.get(id) === at.position);
      await recordEach(
        standings.filter((one) => !idle.includes(one)),
        asOf,
      );
      const isComplete = await recordIdle(
        idle.map(({ id }) => id),
        asOf,
      );
      // One that somebody has removed is recorded anew in the next turn.
      if (isComplete)
        idleAt = new Map(
          standings.flatMap(({ id, at, isCaughtUp }) => (isCaughtUp ? [[id, at.position]] : [])),
        );
    },
  };
}
