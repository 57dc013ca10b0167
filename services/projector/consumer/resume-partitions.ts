import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer } from 'kafkajs';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { partitionKey, type TopicPartition } from '../kafka/topic-partition.ts';
import type { Assignment } from './assignment.ts';
import { gapSightings, LogGap } from './gap-detector.ts';
import type { PartitionWorker } from './partition-worker.ts';
import { findStartOffsets, type StartOffset, type StartOffsetDeps } from './start-offsets.ts';

const retryDelayMs = 1_000;

/** Finds the start offsets of newly assigned partitions and resumes them. Retries until `signal` aborts. */
export async function resumePartitions(
  deps: StartOffsetDeps & { logger: Logger; onFatal: (error: Error) => void },
  consumer: Consumer,
  assignment: Assignment,
  workers: PartitionWorker[],
  signal: AbortSignal,
): Promise<void> {
  for (let [gaps, left] = [0, workers]; left.length > 0 && !signal.aborted;) {
    try {
      const startOffsets = await findStartOffsets(deps, left);
      if (signal.aborted) return;
      startAt(consumer, assignment, startOffsets);
      left = left.filter(({ position }) => position === null);
      if (left.length === 0) return;
      throw new Error(`the brokers report no offsets of ${left.map(partitionKey).join(', ')}`);
    } catch (error) {
      if (error instanceof LogGap && (gaps += 1) >= gapSightings) return deps.onFatal(error);
      deps.logger.warn({ error }, 'could not find the start offsets; trying again');
      await sleep(retryDelayMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

function startAt(consumer: Consumer, assignment: Assignment, startOffsets: StartOffset[]): void {
  for (const { worker, offset, committed, end, topicId } of startOffsets) {
    const key = partitionKey(worker);
    seek(consumer, worker, offset);
    assignment.committedOffsets.set(key, committed);
    worker.end = end;
    worker.topicId = topicId;
    assignment.positions.report(key, { position: offset, end });
    worker.start(offset);
    assignment.updateFetching(worker);
  }
}

/** Makes kafkajs fetch the partition from `offset` next. Batches fetched from another offset become stale. */
export const seek = (
  consumer: Pick<Consumer, 'seek'>,
  { topic, partition }: TopicPartition,
  offset: number,
) => consumer.seek({ topic, partition, offset: String(offset) });
