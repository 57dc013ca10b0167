import type { Db } from 'mongodb';
import { progressOf, watermark } from '../../../shared/control/progress.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import { release } from '../../../shared/runtime/release.ts';
import { isStarted, type Snapshot } from '../partition/snapshot.ts';

const idOf = (generation: number, topic: string, partition: number) => `${generation}/${topic}/${partition}`;

/**
 * Adds the partitions to the recorded progress, so that the watermark waits for them. A new partition starts at the
 * present watermark. No record on it is older: every run reads the partitions after the instant that it claims, and
 * registers the new ones before it claims that.
 */
export async function registerPartitions(control: Db, generation: number, keys: string[], now: Date) {
  const completeTo = (await watermark(control, generation)) ?? new Date(0);
  await progressOf(control).bulkWrite(
    // Sorted, since several projectors may register the same partitions at the same time.
    keys.toSorted().map((key) => {
      const { topic, partition } = parsePartitionKey(key);
      const progress = { generation, topic, partition, position: 0, end: 0, completeTo, updatedAt: now };
      const filter = { _id: idOf(generation, topic, partition) };
      return { updateOne: { filter, update: { $setOnInsert: progress }, upsert: true } };
    }),
    { ordered: false },
  );
}

/** How far each partition has been applied, by `<topic>/<partition>`, as last saved by any projector. */
export async function recordedPositions(control: Db, generation: number): Promise<Map<string, number>> {
  const documents = await progressOf(control).find({ generation }).toArray();
  return new Map(documents.map((progress) => [partitionKey(progress), progress.position]));
}

/** `isPinned`: whether the projector was given the number of its generation. */
type RecorderDeps = { control: Db; generation: number; allowanceMs: number; isPinned?: boolean };

/**
 * Creates the function that saves progress once per run of the commit loop: how far the partitions have been applied, and
 * the instant up to which each is complete, less the lateness allowance. `asOf` is an instant before `ends` was read. No
 * saved value ever decreases, whichever projector writes. The function returns the instants before the allowance, in
 * milliseconds, by `<topic>/<partition>`; 0 if unknown.
 */
export function createProgressRecorder({ control, generation, allowanceMs, isPinned = true }: RecorderDeps) {
  const readMarks = createPartitionWatermarks();
  return async (snapshots: Snapshot[], ends: Map<string, { end: number }>, asOf: Date) => {
    const instants = new Map<string, number>();
    const operations = snapshots.filter(isStarted).map((snapshot) => {
      const { topic, partition, position, leaderEpoch, topicId, cause } = snapshot;
      const key = partitionKey({ topic, partition });
      // Unknown for a partition that was added after the ends were read: it may have any number of records.
      const end = ends.get(key)?.end;
      const { completeToMs, waitingSinceMs } = readMarks(key, position, end, asOf.getTime());
      instants.set(key, completeToMs);
      const completeTo = new Date(Math.max(0, completeToMs - allowanceMs));
      const waitingSince = waitingSinceMs === null ? null : new Date(waitingSinceMs);
      const known = { generation, topic, partition, updatedAt: asOf, isPinned, release };
      const update = {
        $set: { ...known, waitingSince, ...(cause && { cause }), ...(topicId !== null && { topicId }) },
        // Epochs never fall along a log, so the highest one is that of the highest position.
        $max: {
          position,
          end: Math.max(end ?? 0, position),
          completeTo,
          ...(leaderEpoch >= 0 && { leaderEpoch }),
        },
      };
      return { updateOne: { filter: { _id: idOf(generation, topic, partition) }, update, upsert: true } };
    });
    if (operations.length > 0) await progressOf(control).bulkWrite(operations, { ordered: false });
    return instants;
  };
}

/** An instant, and the log's end offset then: every record published up to that instant lies before that end. */
type Mark = { end: number; asOfMs: number };

/** Marks are this part of the time since the oldest apart. A week's backlog then has some 200 of them. */
const markSpacing = 1 / 16;

/**
 * Returns a function that computes the instant, in milliseconds, up to which a partition is complete: `asOfMs` if it is
 * caught up, the start of an earlier run if it has reached the end of that run, otherwise 0; and the first run that saw
 * its next record, null if there is none. No producer's clock decides. Call it once per run of the commit loop, with the
 * end offset that was read after `asOfMs`, or undefined.
 */
export function createPartitionWatermarks() {
  const marksByKey = new Map<string, Mark[]>();
  return (key: string, position: number, end = Infinity, asOfMs: number) => {
    const marks = marksByKey.get(key) ?? [];
    const ahead = marks.filter((mark) => position < mark.end);
    const [oldestMs, newestMs] = [ahead[0]?.asOfMs ?? asOfMs, ahead.at(-1)?.asOfMs ?? -Infinity];
    const isDue = asOfMs - newestMs >= (asOfMs - oldestMs) * markSpacing;
    if (position < end && end < Infinity && isDue) ahead.push({ end, asOfMs });
    marksByKey.set(key, ahead);
    const reachedMs = marks.findLast((mark) => position >= mark.end)?.asOfMs ?? 0;
    return { completeToMs: position >= end ? asOfMs : reachedMs, waitingSinceMs: ahead[0]?.asOfMs ?? null };
  };
}
