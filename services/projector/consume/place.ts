import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import type { Partition } from './partition.ts';
import { endOffsets, recordedPositions } from './progress.ts';

/** A stretch of the log was never applied and cannot be fetched any more: a person has to decide. */
export class LogGap extends Error {
  override name = 'LogGap';
}

const logGap = (key: string, from: number, to: number) =>
  new LogGap(
    `${key}: the records from offset ${from} to ${to} are gone from the log (retention or deletion) and ` +
      'were not applied. Documents may be out of date: restore the records, or rebuild the read model into ' +
      'an empty database (DATABASE_NAME) with a new CONSUMER_GROUP',
  );

/** The group acknowledged what this read model never applied: a reset by kafkajs (see below), or another database. */
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

/**
 * kafkajs answers an offset that the log no longer has by starting over at the log's beginning, and commits
 * that. What lies between would be lost without a word, so a fetch from anywhere but the expected offset is a
 * gap.
 */
export function fetchGap(partition: Partition, fetchedOffset: number): Error | null {
  const { topic, expected } = partition;
  partition.firstFetched ??= fetchedOffset;
  if (expected === null || fetchedOffset === expected) return null;
  return logGap(`${topic}/${partition.partition}`, expected, fetchedOffset);
}

/**
 * Finds where the group stands on each partition, and lets the workers start from there. Rejects where the
 * committed offset is no longer in the log, or is ahead of what was recorded as applied.
 */
export async function place(
  deps: { admin: Admin; control: Db; groupId: string; generation: number },
  partitions: Partition[],
  committed: Map<string, number>,
): Promise<void> {
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  if (topics.length === 0) return;
  // Records are applied, then recorded, then committed; read the other way round, none can seem ahead.
  const groups = await deps.admin.fetchOffsets({ groupId: deps.groupId, topics });
  const recorded = await recordedPositions(deps.control, deps.generation);
  const ends = await endOffsets(deps.admin, topics);
  for (const item of partitions) {
    const key = `${item.topic}/${item.partition}`;
    const group = groups.find(({ topic }) => topic === item.topic);
    const offset = Number(
      group?.partitions.find(({ partition }) => partition === item.partition)?.offset ?? -1,
    );
    const { low, end } = ends.get(key) ?? { low: 0, end: 0 };
    const applied = recorded.get(key) ?? 0;
    if (applied > end) throw shorterLog(key, applied, end);
    if (offset > applied) throw notApplied(key, applied, offset);
    // Without a committed offset (-1; -2 where kafkajs has reset it) the log is read from its beginning, which
    // for a group that has applied nothing yet is wherever the log begins.
    const start = Math.max(offset, low);
    const first = Math.max(low, item.firstFetched ?? 0);
    if ((offset >= 0 || applied > 0) && first > applied) throw logGap(key, applied, first);
    committed.set(key, start);
    item.expected ??= start;
    item.start(start);
  }
}
