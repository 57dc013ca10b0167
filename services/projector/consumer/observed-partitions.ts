import { partitionKey } from '../../../shared/control/topic-partition.ts';
import type { LogState } from '../kafka/log-client.ts';
import type { ObservedPartition } from '../liveness.ts';
import type { RunningConsumer } from './consumer.ts';
import type { Positions } from './positions.ts';
import type { Snapshot } from './progress.ts';

/**
 * While a transaction is open, a partition has nothing to apply after the last stable offset, and while a build loads, after
 * its load end. A partition without a start offset counts as
 * one with a record to apply, because finding the offset is work to be done; but without a leader it waits for a broker.
 */
export const observedPartitions = (
  consumer: Pick<RunningConsumer, 'withoutStartOffset'>,
  positions: Pick<Positions, 'loadEnd'>,
  { ends }: Pick<LogState, 'ends'>,
  snapshot: Snapshot[],
): ObservedPartition[] => [
  ...snapshot.map((item) => {
    const key = partitionKey(item);
    const { position, progressCount } = item;
    const end = Math.min(ends.get(key)?.stable ?? 0, positions.loadEnd(key));
    return { key, position, end, progressCount };
  }),
  ...consumer
    .withoutStartOffset()
    .filter((key) => ends.has(key))
    .map((key) => ({ key, position: -1, end: 0, progressCount: 0 })),
];
