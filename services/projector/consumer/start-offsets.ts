import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Consumer } from 'kafkajs';
import type { Db } from 'mongodb';
import type { LogClient } from '../../../shared/kafka/log-client.ts';
import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import { deletedRecords, otherTopic, shorterLog, gapConfirmationsMin, LogGap } from './gap-detector.ts';
import type { PartitionWorker } from './partition-worker.ts';
import { recordedPositions, rememberTopicIds } from './progress.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Assignment } from './assignment.ts';

type StartOffsetDeps = { admin: Admin; log: LogClient; control: Db; groupId: string; generation: number };

export type ResumeDeps = StartOffsetDeps & {
  logger: Logger;
  /** Another client has committed an offset of the group. */
  onForeignCommit: (topic: string) => void;
  /** The consumer cannot continue; the process must exit with an error. */
  onFatal: (error: Error) => void;
};

/**
 * Finds the offset from which to read each partition on, of those that have a leader: the recorded position, whatever the
 * group has committed. Rejects with a `LogGap` if the next record is no longer in the log.
 */
export async function findStartOffsets(deps: StartOffsetDeps, workers: PartitionWorker[]) {
  const topics = [...new Set(workers.map(({ topic }) => topic))];
  if (topics.length === 0) return [];
  // Records are applied, then recorded, then committed. Read in reverse order, no value can appear ahead.
  const committedByKey = await committedOffsets(deps, topics);
  const recorded = await recordedPositions(deps.control, deps.generation);
  const { ends, topicIds } = await deps.log.read(topics);
  const remembered = await rememberTopicIds(deps, topicIds, recorded);
  return workers.flatMap((worker) => {
    const key = partitionKey(worker);
    const log = ends.get(key);
    if (!log) return [];
    const { low, end } = log;
    const applied = recorded.get(key) ?? 0;
    const topicId = topicIds.get(worker.topic) ?? null;
    if (topicId !== null && remembered.get(worker.topic) !== topicId)
      throw otherTopic(key, applied, worker.topic);
    // Negative if the group has committed nothing, or if kafkajs has reset the offset.
    const committed = committedByKey.get(key) ?? -1;
    if (applied > end) throw shorterLog(key, applied, end);
    // A group that has applied nothing yet starts wherever the log starts.
    if ((committed >= 0 || applied > 0) && low > applied) throw deletedRecords(key, applied, low);
    // The committed offset may be lost, or be older: a commit is refused to a member that was away for long. It is ahead if
    // another client has committed or reset it, or if MongoDB was restored.
    return [{ worker, offset: Math.max(applied, low), committed, end, topicId }];
  });
}

type StartOffset = Awaited<ReturnType<typeof findStartOffsets>>[number];

/** The committed offsets of the group, by `<topic>/<partition>`. */
async function committedOffsets({ admin, groupId }: StartOffsetDeps, topics: string[]) {
  const committed = await admin.fetchOffsets({ groupId, topics });
  return new Map(
    committed.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => [partitionKey({ topic, partition }), Number(offset)]),
    ),
  );
}

const retryDelayMs = 1_000;

/**
 * Resumes the partitions of workers that go on, then finds the start offsets of the others and resumes them. Retries until
 * `signal` aborts.
 */
export async function resumePartitions(
  deps: ResumeDeps,
  consumer: Consumer,
  assignment: Assignment,
  workers: PartitionWorker[],
  signal: AbortSignal,
): Promise<void> {
  for (const worker of workers) {
    if (worker.nextFetchOffset === null) continue;
    seek(consumer, worker, worker.nextFetchOffset);
    assignment.updateFetching(worker);
  }
  const unstarted = workers.filter(({ position }) => position === null);
  for (let [gaps, left] = [0, unstarted]; left.length > 0 && !signal.aborted;) {
    try {
      const startOffsets = await findStartOffsets(deps, left);
      if (signal.aborted) return;
      for (const start of startOffsets) startAt(deps, consumer, assignment, start);
      left = left.filter(({ position }) => position === null);
      if (left.length === 0) return;
      throw new Error(`the brokers report no offsets of ${left.map(partitionKey).join(', ')}`);
    } catch (error) {
      if (error instanceof LogGap && (gaps += 1) >= gapConfirmationsMin) return deps.onFatal(error);
      deps.logger.warn({ error }, 'could not find the start offsets; trying again');
      await sleep(retryDelayMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

function startAt(deps: ResumeDeps, consumer: Consumer, assignment: Assignment, start: StartOffset): void {
  const { worker, offset, committed, end, topicId } = start;
  const { topic, partition } = worker;
  const isAhead = committed > offset;
  if (isAhead) {
    deps.onForeignCommit(topic);
    deps.logger.warn(
      { topic, partition, committed, position: offset },
      'the committed offset is ahead of the recorded position: another client commits in this group, or MongoDB was ' +
        'restored; continuing from the position',
    );
  }
  seek(consumer, worker, offset);
  // An offset that is ahead is overwritten by the next commit, even if the position has not moved.
  worker.committed = isAhead ? -1 : committed;
  worker.end = end;
  worker.topicId = topicId;
  assignment.positions.observe(partitionKey(worker), { position: offset, end });
  worker.start(offset);
  assignment.updateFetching(worker);
}

/** Makes kafkajs fetch the partition from `offset` next. Batches fetched from another offset become stale. */
export const seek = (consumer: Pick<Consumer, 'seek'>, { topic, partition }: TopicPartition, at: number) =>
  consumer.seek({ topic, partition, offset: String(at) });
