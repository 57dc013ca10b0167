import type { Consumer } from 'kafkajs';
import type { Assignment } from './assignment.ts';
import type { ConsumeDeps } from './consumer.ts';
import { keyOf, type Partition } from './partition.ts';
import { findPlaces, gapSightings, LogGap, type Place } from './place.ts';

/** Tries until the group's places are known, or the partitions have been reassigned, or the process stops. */
export async function beginWhenPlaced(
  deps: ConsumeDeps,
  consumer: Consumer,
  assignment: Assignment,
  partitions: Partition[],
  isOurs: () => boolean,
): Promise<void> {
  for (let gaps = 0; isOurs();) {
    try {
      const places = await findPlaces(deps, partitions);
      if (isOurs()) begin(consumer, assignment, places);
      return;
    } catch (error) {
      if (error instanceof LogGap && (gaps += 1) >= gapSightings) return deps.onFatal(error);
      deps.logger.warn({ error }, 'the places of the group could not be found; trying again');
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

function begin(consumer: Consumer, assignment: Assignment, places: Place[]): void {
  const { committed } = assignment;
  const topicPartitions = places.map(({ partition: { topic, partition } }) => ({
    topic,
    partitions: [partition],
  }));
  for (const { partition, start } of places) seek(consumer, partition, start);
  consumer.resume(topicPartitions);
  for (const { partition, start, end, topicId } of places) {
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
