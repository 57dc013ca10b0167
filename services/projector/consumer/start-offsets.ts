import { AssertionError } from 'node:assert';
import type { Admin, Consumer } from 'kafkajs';
import type { Db } from 'mongodb';
import type { Gap } from '../../../shared/control/log-gaps.ts';
import { type AppliedPosition, appliedTopicIds, readProgress } from '../../../shared/control/progress.ts';
import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { EpochEnd } from '../../../shared/kafka/epoch-ends.ts';
import type { LogClient, LogState } from '../../../shared/kafka/log-client.ts';
import { unknownEpoch } from '../../../shared/kafka/record-batch.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { retry } from '../../../shared/store/retry.ts';
import type { FetchStart } from '../partition/fetch-state.ts';
import type { Partition } from '../partition/partition.ts';
import type { Assignment } from './assignment.ts';
import { type CurrentLog, findGap, gapConfirmationsMin, GapFound, type LogPosition } from './gap-detector.ts';

export type StartOffsetDeps = {
  admin: Admin;
  log: Pick<LogClient, 'read' | 'epochEnds'>;
  control: Db;
  groupId: string;
  generation: number;
  /**
   * Returns the offset at which the log of a partition began when the generation was registered, or at which an
   * operator has accepted since that it begins. The key is `<topic>/<partition>`.
   */
  beginningOf: (key: string) => number;
};

export type ResumeDeps = StartOffsetDeps & {
  logger: Logger;
  /** Called if another client has committed an offset of the group. */
  onForeignCommit: (topic: string) => void;
  /** The consumer cannot continue; the process must exit with an error. */
  onFatal: (error: Error) => void;
};

/** The offset from which a partition starts to read, and the offsets that were compared to find it. */
export type StartOffset = FetchStart & {
  assigned: Partition;
  /** The recorded position; 0 without one. */
  applied: number;
  /** The offset that the group has committed; null before its first commit. */
  committed: number | null;
};

/** The recorded positions, by `<topic>/<partition>`. */
type RecordedPositions = ReadonlyMap<string, AppliedPosition>;

const nothingApplied: AppliedPosition = { position: 0 };

/**
 * Finds the offset from which to read each partition that has a leader: the recorded position, even if the group has
 * committed another offset. Rejects with `GapFound` if the log has lost the next record, or if the generation has
 * applied another log.
 */
export async function findStartOffsets(
  deps: StartOffsetDeps,
  partitions: Partition[],
): Promise<StartOffset[]> {
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  if (topics.length === 0) return [];
  // A projector applies a record, then saves its progress, then commits. The reads go in the reverse order. Otherwise
  // the commits of a projector that works at the same time would seem ahead of the progress.
  const committed = await readCommittedOffsets(deps, topics);
  const progress = await readProgress(deps.control, deps.generation);
  const log = await deps.log.read(topics);
  const recorded: RecordedPositions = new Map(progress.map((saved) => [partitionKey(saved), saved.applied]));
  const epochEnds = await readAppliedEpochEnds(deps, partitions, recorded);
  const topicIds = appliedTopicIds(progress);
  const gaps: Gap[] = [];
  const starts: StartOffset[] = [];
  for (const assigned of partitions) {
    const key = partitionKey(assigned);
    const applied = recorded.get(key) ?? nothingApplied;
    const currentLog = currentLogOf(log, assigned, epochEnds);
    const needsEpochEnd = appliedEpoch(applied) !== unknownEpoch;
    // Without an answer from a leader, the log is unknown.
    if (!currentLog || (needsEpochEnd && !currentLog.epochEnd)) continue;
    const logPosition = logPositionOf(deps, assigned, applied, topicIds);
    const gap = findGap(logPosition, currentLog);
    if (gap) gaps.push(gap);
    // The committed offset may be absent or older, because brokers refuse the commit of a member that was away for
    // long. The offset is ahead if another client has committed or reset it, or if MongoDB was restored.
    starts.push({
      assigned,
      applied: applied.position,
      offset: Math.max(logPosition.offset, currentLog.low),
      leaderEpoch: logPosition.leaderEpoch,
      comparedEpoch: log.leaderEpochs.get(key) ?? unknownEpoch,
      committed: committed.get(key) ?? null,
      endOffset: currentLog.end,
      // While the brokers disagree about the id, the id of the applied log stays.
      topicId: currentLog.topicId ?? logPosition.topicId,
    });
  }
  if (gaps.length > 0) throw new GapFound(gaps);
  return starts;
}

/** Returns up to which place the generation has applied a partition, and of which log. */
function logPositionOf(
  { beginningOf }: Pick<StartOffsetDeps, 'beginningOf'>,
  { topic, partition }: TopicPartition,
  applied: AppliedPosition,
  topicIds: ReadonlyMap<string, string>,
): LogPosition {
  const offset = applied.position || beginningOf(partitionKey({ topic, partition }));
  const topicId = topicIds.get(topic) ?? null;
  return { topic, partition, offset, leaderEpoch: appliedEpoch(applied), topicId };
}

/** The log of a partition; null if its leader does not answer. */
function currentLogOf(
  { ends, topicIds }: Pick<LogState, 'ends' | 'topicIds'>,
  place: TopicPartition,
  epochEnds: Map<string, EpochEnd>,
): CurrentLog | null {
  const key = partitionKey(place);
  const log = ends.get(key);
  return log ? { ...log, topicId: topicIds.get(place.topic) ?? null, epochEnd: epochEnds.get(key) } : null;
}

/** The leader epoch of the record batch that was applied last, or `unknownEpoch`. */
const appliedEpoch = ({ position, leaderEpoch = unknownEpoch }: AppliedPosition): number =>
  position > 0 ? leaderEpoch : unknownEpoch;

/** Asks where the last applied epoch of each partition ends, if the epoch is recorded. */
function readAppliedEpochEnds(
  { log }: Pick<StartOffsetDeps, 'log'>,
  partitions: TopicPartition[],
  recorded: RecordedPositions,
): Promise<Map<string, EpochEnd>> {
  const epochs = new Map<string, number>();
  for (const key of partitions.map(partitionKey)) {
    const epoch = appliedEpoch(recorded.get(key) ?? nothingApplied);
    if (epoch !== unknownEpoch) epochs.set(key, epoch);
  }
  return log.epochEnds(epochs);
}

/** The offsets that the group has committed, by `<topic>/<partition>`. */
async function readCommittedOffsets({ admin, groupId }: StartOffsetDeps, topics: string[]) {
  const committed = new Map<string, number>();
  for (const { topic, partitions } of await admin.fetchOffsets({ groupId, topics })) {
    for (const { partition, offset } of partitions) {
      const key = partitionKey({ topic, partition });
      // kafkajs returns -1 for a partition without a committed offset.
      if (offset !== '-1') committed.set(key, Number(offset));
    }
  }
  return committed;
}

/** The pause between two attempts to find start offsets, in milliseconds. */
const pauseMs = 1_000;

/**
 * Resumes the partitions that this member keeps, then finds the start offsets of the others and resumes them. Retries
 * until `signal` aborts: a partition without a leader may wait for days. Each new reason is logged once.
 */
export async function resumePartitions(
  deps: ResumeDeps,
  consumer: Consumer,
  assignment: Assignment,
  partitions: Partition[],
  signal: AbortSignal,
): Promise<void> {
  for (const assigned of partitions) {
    const { nextOffset } = assigned.fetchState;
    if (nextOffset === null) continue;
    seek(consumer, assigned, nextOffset);
    assignment.updateFetching(assigned);
  }
  let attemptsWithGap = 0;
  let loggedReason: string | null = null;
  const unstarted = () => partitions.filter(({ position }) => position === null);
  const startUnstarted = async () => {
    if (unstarted().length === 0) return;
    const startOffsets = await findStartOffsets(deps, unstarted());
    if (signal.aborted) return;
    logOlderCommits(deps.logger, startOffsets);
    for (const start of startOffsets) startAt(deps, consumer, assignment, start);
    const missing = unstarted().map(partitionKey);
    if (missing.length > 0) throw new Error(`the brokers report no offsets of ${missing.join(', ')}`);
  };
  const onFailed = (error: unknown) => {
    if (error instanceof GapFound) attemptsWithGap += 1;
    const isFinal = attemptsWithGap >= gapConfirmationsMin || error instanceof AssertionError;
    if (isFinal || signal.aborted) throw error;
    const reason = errorMessage(error);
    if (reason !== loggedReason)
      deps.logger.warn({ error }, 'could not find the start offsets; trying again');
    loggedReason = reason;
  };
  await retry({ pauseMs, onFailed, signal }, startUnstarted).catch((error: unknown) => {
    if (!signal.aborted) deps.onFatal(error as Error);
  });
}

/**
 * Logs the partitions whose committed offset is older than their position. A failed commit is harmless, but an operator
 * who has reset the offsets learns here that the projector does not read the records again.
 */
function logOlderCommits(logger: Logger, startOffsets: StartOffset[]): void {
  const absent = startOffsets.filter(({ committed }) => committed === null);
  const older = startOffsets.filter(({ committed, applied }) => committed !== null && committed < applied);
  const partitions = absent.length + older.length;
  if (partitions === 0) return;
  logger.info(
    { partitions, absent: absent.length },
    'the group has no committed offset, or an older one; continuing from the recorded position',
  );
}

function startAt(deps: ResumeDeps, consumer: Consumer, assignment: Assignment, start: StartOffset): void {
  const { assigned, offset, committed, endOffset } = start;
  const { topic, partition } = assigned;
  const isAhead = committed !== null && committed > offset;
  if (isAhead) {
    deps.onForeignCommit(topic);
    deps.logger.warn(
      { topic, partition, committed, position: offset },
      'the committed offset is ahead of the recorded position: another client commits in this group, or MongoDB was ' +
        'restored; continuing from the position',
    );
  }
  seek(consumer, assigned, offset);
  assignment.positions.observe(partitionKey(assigned), { position: offset, end: endOffset });
  // The next commit then overwrites an offset that is ahead, even if the position has not moved.
  assigned.start(start, isAhead ? null : committed);
  assignment.updateFetching(assigned);
}

/** Makes kafkajs fetch the partition from `offset` next. Batches fetched from another offset become stale. */
export const seek = (
  consumer: Pick<Consumer, 'seek'>,
  { topic, partition }: TopicPartition,
  offset: number,
) => consumer.seek({ topic, partition, offset: String(offset) });
