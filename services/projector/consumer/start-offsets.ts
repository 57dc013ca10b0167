import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import type { LogClient } from '../kafka/log-client.ts';
import { createLogView, type LogView } from './log-view.ts';
import { keyOf, type Partition } from './partition-worker.ts';
import { recordedPositions } from './progress.ts';
import { rememberTopicIds } from './topic-identity.ts';

/** A stretch of the log was never applied and cannot be fetched any more: a person has to decide. */
export class LogGap extends Error {
  override name = 'LogGap';
}

/**
 * As many times in a row a gap is found, a second apart, before it is taken for one: a broker that has just
 * become a partition's leader may know of fewer records for a moment than were already read.
 */
export const gapSightings = 5;

/** `low` is the first record that is still there. */
const logGap = (key: string, from: number, low: number) =>
  new LogGap(
    `${key}: the records from offset ${from} to ${low - 1} are gone from the log (retention or deletion) and ` +
      'were not applied. Documents may be out of date: restore the records, or rebuild the read model into ' +
      'an empty database (DATABASE_NAME) with a new CONSUMER_GROUP',
  );

/** The group acknowledged what this read model never applied: it has filled another database. */
const notApplied = (key: string, from: number, to: number) =>
  new LogGap(
    `${key}: the group has committed offset ${to}, but this read model has applied the log up to ${from} only. ` +
      'Either the records between are gone from the log, or the group has filled another database: rebuild the ' +
      'read model into an empty database (DATABASE_NAME) with a new CONSUMER_GROUP',
  );

const shorterLog = (key: string, applied: number, end: number) =>
  new LogGap(
    `${key}: this read model has applied the log up to ${applied}, but it ends at ${end}: the topic was deleted ` +
      'and created again. Rebuild the read model into an empty database (DATABASE_NAME) with a new CONSUMER_GROUP',
  );

const otherTopic = (key: string, applied: number, topic: string) =>
  new LogGap(
    `${key}: this read model has applied the log up to ${applied}, but of another topic of this name: it was ` +
      'deleted and created again. Rebuild the read model into an empty database (DATABASE_NAME) with a new ' +
      'CONSUMER_GROUP; or, if this log is a copy with the same records at the same offsets, delete the ' +
      `documents of ${topic} in the collection topic_ids of DATABASE_NAME`,
  );

/** Where to read a partition on from, and the id of its topic, where it has one. */
export type StartOffset = { partition: Partition; start: number; end: number; topicId: string | null };

/**
 * Finds where the group stands on each partition. Rejects with a `LogGap` where what comes next is no longer in
 * the log, or where the committed offset is ahead of what was recorded as applied.
 */
export async function findStartOffsets(
  deps: { admin: Admin; log: LogClient; control: Db; groupId: string; generation: number },
  partitions: Partition[],
): Promise<StartOffset[]> {
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  if (topics.length === 0) return [];
  // Records are applied, then recorded, then committed; read the other way round, none can seem ahead.
  const groups = await deps.admin.fetchOffsets({ groupId: deps.groupId, topics });
  const recorded = await recordedPositions(deps.control, deps.generation);
  const { ends, topicIds } = await createLogView(deps.log, topics)();
  const remembered = await rememberTopicIds(deps, topicIds, recorded);
  const offsets = new Map(
    groups.flatMap(({ topic, partitions: some }) =>
      some.map(({ partition, offset }) => [keyOf({ topic, partition }), Number(offset)]),
    ),
  );
  return partitions.map((partition) => {
    const key = keyOf(partition);
    const found = ends.get(key);
    if (!found) throw new Error(`the ends of ${key} are not known yet`);
    const { low, end } = found;
    const applied = recorded.get(key) ?? 0;
    const topicId = topicIds.get(partition.topic) ?? null;
    if (topicId !== null && remembered.get(partition.topic) !== topicId)
      throw otherTopic(key, applied, partition.topic);
    // Below 0 where the group has none, or where kafkajs has reset it.
    const offset = offsets.get(key) ?? -1;
    if (applied > end) throw shorterLog(key, applied, end);
    if (offset > applied) throw notApplied(key, applied, offset);
    // A group that has applied nothing yet begins wherever the log begins.
    if ((offset >= 0 || applied > 0) && low > applied) throw logGap(key, applied, low);
    return { partition, start: Math.max(offset, low), end, topicId };
  });
}

/**
 * Watches for records that are deleted before they were fetched, or a topic that is made anew: kafkajs would
 * start over at the log's beginning without a word, or go on in the new topic. To be called once a second; gives
 * the gap that has been there for so many calls.
 */
export function createGapDetector() {
  let suspects = new Map<Partition, { expected: number; sightings: number }>();
  return (partitions: Partition[], { ends, topicIds }: LogView): LogGap | null => {
    const seen: typeof suspects = new Map();
    for (const item of partitions) {
      const { expected, topic, topicId } = item;
      const key = keyOf(item);
      const found = ends.get(key);
      // An id that was given up never comes again.
      if (topicId !== null && (topicIds.get(topic) ?? topicId) !== topicId)
        return otherTopic(key, item.position ?? 0, topic);
      if (expected === null || !found || (found.low <= expected && expected <= found.end)) continue;
      const before = suspects.get(item);
      const sightings = before?.expected === expected ? before.sightings + 1 : 1;
      if (sightings >= gapSightings)
        return found.low > expected ? logGap(key, expected, found.low) : shorterLog(key, expected, found.end);
      seen.set(item, { expected, sightings });
    }
    suspects = seen;
    return null;
  };
}
