import type { Consumer } from 'kafkajs';
import type { Assignment } from './assignment.ts';
import type { ConsumerDeps } from './consumer.ts';
import { keyOf, type Partition } from './partition-worker.ts';
import { findStartOffsets, gapSightings, LogGap, type StartOffset } from './start-offsets.ts';

/** Tries until the group's places are known, or the partitions have been reassigned, or the process stops. */
export async function resumePartitions(
  deps: ConsumerDeps,
  consumer: Consumer,
  assignment: Assignment,
  partitions: Partition[],
  isOurs: () => boolean,
): Promise<void> {
  for (let gaps = 0; isOurs();) {
    try {
      const startOffsets = await findStartOffsets(deps, partitions);
      if (isOurs()) resumeAt(consumer, assignment, startOffsets);
      return;
    } catch (error) {
      if (error instanceof LogGap && (gaps += 1) >= gapSightings) return deps.onFatal(error);
      deps.logger.warn({ error }, 'the places of the group could not be found; trying again');
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

function resumeAt(consumer: Consumer, assignment: Assignment, startOffsets: StartOffset[]): void {
  const { committed } = assignment;
  const topicPartitions = startOffsets.map(({ partition: { topic, partition } }) => ({
    topic,
    partitions: [partition],
  }));
  for (const { partition, start } of startOffsets) seek(consumer, partition, start);
  consumer.resume(topicPartitions);
  for (const { partition, start, end, topicId } of startOffsets) {
    committed.set(keyOf(partition), start);
    partition.end = end;
    partition.topicId = topicId;
    assignment.positions.report(keyOf(partition), { position: start, end });
    partition.start(start);
  }
}

/** Has the partition fetched from `offset` next; what was fetched from elsewhere is stale from now on. */
export const seek = (consumer: Pick<Consumer, 'seek'>, { topic, partition }: Partition, offset: number) =>
  consumer.seek({ topic, partition, offset: String(offset) });
