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
  // Offsets are committed after they are recorded, so they are read before.
  const groups = await deps.admin.fetchOffsets({ groupId: deps.groupId, topics });
  const [ends, recorded] = await Promise.all([
    endOffsets(deps.admin, topics),
    recordedPositions(deps.control, deps.generation),
  ]);
  for (const item of partitions) {
    const key = `${item.topic}/${item.partition}`;
    const group = groups.find(({ topic }) => topic === item.topic);
    const offset = Number(
      group?.partitions.find(({ partition }) => partition === item.partition)?.offset ?? -1,
    );
    const low = ends.get(key)?.low ?? 0;
    const applied = recorded.get(key) ?? 0;
    if (offset >= 0 && offset < low) throw logGap(key, offset, low);
    if (offset > Math.max(applied, low)) throw logGap(key, applied, offset);
    const start = offset >= 0 ? offset : low;
    if (item.firstFetched !== null && item.firstFetched > start) throw logGap(key, start, item.firstFetched);
    committed.set(key, start);
    item.expected ??= start;
    item.start(start);
  }
}
