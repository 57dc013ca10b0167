import type { Db } from 'mongodb';
import {
  type AppliedPosition,
  type LastSave,
  progressOf,
  readWatermark,
} from '../../../shared/control/progress.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import { unknownEpoch } from '../../../shared/kafka/record-batch.ts';
import { isStarted, type Snapshot } from '../partition/snapshot.ts';

const idOf = (generation: number, topic: string, partition: number) => `${generation}/${topic}/${partition}`;

/**
 * Adds the partitions to the saved progress, so that the watermark waits for them. A new partition starts at the
 * current watermark, because no record on it is older. The commit loop ensures that: each run first draws an instant,
 * then reads and registers the partitions, and only then raises the watermark to that instant.
 */
export async function registerPartitions(control: Db, generation: number, keys: string[], now: Date) {
  const completeTo = (await readWatermark(control, generation)) ?? new Date(0);
  await progressOf(control).bulkWrite(
    // Sorted, because several projectors may register the same partitions at the same time.
    keys.toSorted().map((key) => {
      const { topic, partition } = parsePartitionKey(key);
      const nothingRead = { applied: { position: 0 }, end: 0, completeTo };
      const progress = { generation, topic, partition, ...nothingRead, updatedAt: now };
      const filter = { _id: idOf(generation, topic, partition) };
      return { updateOne: { filter, update: { $setOnInsert: progress }, upsert: true } };
    }),
    { ordered: false },
  );
}

/** Reads the position of each partition as the last projector has saved it; the keys are `<topic>/<partition>`. */
export async function readSavedPositions(control: Db, generation: number): Promise<Map<string, number>> {
  const documents = await progressOf(control).find({ generation }).toArray();
  return new Map(documents.map((progress) => [partitionKey(progress), progress.applied.position]));
}

type RecorderDeps = {
  control: Db;
  generation: number;
  /** The lateness allowance, by which the watermark lags. */
  allowanceMs: number;
  /** The id of this process in the register of processes. */
  processId: string;
};

/** Saves how far one projector has applied a generation. */
export type ProgressRecorder = {
  /** Registers the partitions that are not registered yet. */
  register: (keys: string[], asOf: Date) => Promise<void>;
  /**
   * Saves progress once per run of the commit loop: how far the partitions have been applied, and the instant up to
   * which each is complete, less the lateness allowance. `asOf` is an instant before `ends` was read. No saved value
   * ever decreases, even if several projectors write. Returns the instants without the allowance, in milliseconds, by
   * `<topic>/<partition>`; 0 if unknown.
   */
  save: (
    snapshots: Snapshot[],
    ends: Map<string, { end: number }>,
    asOf: Date,
  ) => Promise<Map<string, number>>;
};

export function createProgressRecorder(deps: RecorderDeps): ProgressRecorder {
  const { control, generation, allowanceMs, processId } = deps;
  const registered = new Set<string>();
  const advanceMarks = createPartitionWatermarks();
  const register: ProgressRecorder['register'] = async (keys, asOf) => {
    const added = keys.filter((key) => !registered.has(key));
    if (added.length > 0) await registerPartitions(control, generation, added, asOf);
    for (const key of added) registered.add(key);
  };
  const save: ProgressRecorder['save'] = async (snapshots, ends, asOf) => {
    const instants = new Map<string, number>();
    const operations = snapshots.filter(isStarted).map((snapshot) => {
      const { topic, partition, position, leaderEpoch, topicId, cause, throttledMs } = snapshot;
      const key = partitionKey({ topic, partition });
      // The end is unknown if the partition was added after the ends were read. It may then have any number of records.
      const end = ends.get(key)?.end;
      const { completeToMs, waitingSinceMs } = advanceMarks({ key, position, end, asOfMs: asOf.getTime() });
      instants.set(key, completeToMs);
      const completeTo = new Date(Math.max(0, completeToMs - allowanceMs));
      const waitingSince = waitingSinceMs === null ? null : new Date(waitingSinceMs);
      const saved: LastSave = { cause: cause ?? null, waitingSince, processId };
      if (throttledMs !== undefined) saved.throttledMs = throttledMs;
      const applied: AppliedPosition = { position };
      if (leaderEpoch !== unknownEpoch) applied.leaderEpoch = leaderEpoch;
      if (topicId !== null) applied.topicId = topicId;
      const highest = { applied, end: Math.max(end ?? 0, position), completeTo };
      const known = { generation, topic, partition, updatedAt: asOf, saved };
      const filter = { _id: idOf(generation, topic, partition) };
      return { updateOne: { filter, update: { $set: known, $max: highest }, upsert: true } };
    });
    if (operations.length > 0) await progressOf(control).bulkWrite(operations, { ordered: false });
    return instants;
  };
  return { register, save };
}

/**
 * An instant, and the end of the log that was read after it. Every record published up to the instant is before the
 * end.
 */
type Mark = { end: number; asOfMs: number };

/**
 * The distance of two marks is this part of the time since the oldest mark. A week's backlog then has about 200 marks.
 */
const markSpacing = 1 / 16;

/** The progress of a partition in one run of the commit loop. */
type AppliedInRun = {
  key: string;
  position: number;
  /** The end of its log, which was read after `asOfMs`; undefined if it is unknown. */
  end: number | undefined;
  asOfMs: number;
};

/** The instants up to which a partition is complete, in milliseconds. */
type PartitionWatermark = {
  /** `asOfMs` if it is caught up; the start of an earlier run whose end it has reached; otherwise 0. */
  completeToMs: number;
  /** The time when a run first saw its next record; null without a next record. */
  waitingSinceMs: number | null;
};

/**
 * Finds the instant up to which a partition is complete, without the clocks of producers. Each run of the commit loop
 * marks the end of the log with its instant. When the position reaches a mark, the partition is complete up to the
 * instant of the mark. Call the returned function for each partition once per run.
 */
export function createPartitionWatermarks(): (reached: AppliedInRun) => PartitionWatermark {
  const marksByKey = new Map<string, Mark[]>();
  return ({ key, position, end, asOfMs }) => {
    const marks = marksByKey.get(key) ?? [];
    const ahead = marks.filter((mark) => position < mark.end);
    marksByKey.set(key, ahead);
    const isCaughtUp = end !== undefined && position >= end;
    if (end !== undefined && !isCaughtUp && isMarkDue(ahead, asOfMs)) ahead.push({ end, asOfMs });
    const waitingSinceMs = ahead[0]?.asOfMs ?? null;
    if (isCaughtUp) return { completeToMs: asOfMs, waitingSinceMs };
    const reached = marks.findLast((mark) => position >= mark.end);
    return { completeToMs: reached?.asOfMs ?? 0, waitingSinceMs };
  };
}

/** Whether the last mark is old enough for another one. */
function isMarkDue(marks: Mark[], asOfMs: number): boolean {
  const [oldest] = marks;
  const newest = marks.at(-1);
  if (!oldest || !newest) return true;
  return asOfMs - newest.asOfMs >= (asOfMs - oldest.asOfMs) * markSpacing;
}
