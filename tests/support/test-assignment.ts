import type { EachBatchPayload, TopicPartitions } from 'kafkajs';
import { pino } from 'pino';
import { createAssignment } from '../../services/projector/consumer/assignment.ts';
import { handleBatch } from '../../services/projector/consumer/handle-batch.ts';
import type { Apply } from '../../services/projector/hand-over.ts';
import type { Partition } from '../../services/projector/partition/partition.ts';
import { createPositions } from '../../services/projector/partition/positions.ts';
import { createWaitForPrerequisites } from '../../services/projector/partition/wait-for-prerequisites.ts';
import { partitionKey } from '../../shared/control/topic-partition.ts';
import { createErrorFromCode } from '../../shared/kafka/protocol-errors.ts';
import { rawBatch } from './example-responses.ts';
import { mebibyte } from './memory.ts';
import { createPartitionFactory, received, startAt } from './start-partition.ts';

export const nothing = { events: 0, rejected: [], times: [] };

/** A fetch of these offsets. */
export type Fetched = {
  /** The first offset asked for. */
  from: number;
  offsets: number[];
  /** The last offset of the batch. */
  to: number;
  /** Whether a seek has happened since the fetch. */
  isStale?: boolean;
  /** The epoch of the leader that appended the records; 0 by default. */
  leaderEpoch?: number;
};

/** An assignment, the offsets that it applies, the partitions that kafkajs does not fetch, and the offsets sought. */
export function createTestAssignment(apply: Apply = async () => nothing) {
  const positions = createPositions(() => 0);
  const paused = new Set<string>();
  const applied: number[] = [];
  const seeks: string[] = [];
  const resolved: string[] = [];
  let fetchControlError: Error | null = null;
  const logged: string[] = [];
  const write = (line: string) => {
    logged.push(line);
  };
  const logger = pino({ level: 'error' }, { write });
  const keysOf = (topicPartitions: unknown): string[] => {
    if (fetchControlError) throw fetchControlError;
    const keys: string[] = [];
    for (const { topic, partitions } of topicPartitions as TopicPartitions[]) {
      for (const partition of partitions) keys.push(partitionKey({ topic, partition }));
    }
    return keys;
  };
  const consumer = {
    pause: (topicPartitions: unknown) => {
      for (const key of keysOf(topicPartitions)) paused.add(key);
    },
    resume: (topicPartitions: unknown) => {
      for (const key of keysOf(topicPartitions)) paused.delete(key);
    },
    seek: ({ offset }: { offset: string }) => {
      seeks.push(offset);
    },
  };
  const assignment = createAssignment(
    {
      createPartition: createPartitionFactory({
        apply: (chunk, attempt) => {
          for (const { position } of chunk.records) applied.push(position.offset);
          return apply(chunk, attempt);
        },
        waitForPrerequisites: createWaitForPrerequisites(positions, () => []),
        logger,
      }),
      queuedBytesMax: 16 * mebibyte,
      positions,
    },
    consumer,
  );
  let memberCount = 0;
  const newMember = () => {
    memberCount += 1;
    return `member ${memberCount}`;
  };
  /** The only partition of a new assignment; by default, the process is a new member. */
  const assign = (member = newMember()): Partition => {
    const [partition] = assignment.replace({ t: [0] }, member);
    if (!partition) throw new Error('nothing is assigned');
    return partition;
  };
  const start = (partition: Partition, offset = 0) => {
    partition.start(startAt(offset), offset);
    assignment.updateFetching(partition);
  };
  /** Queues one record, at the offset that the partition needs next. */
  const queueRecord = (partition: Partition, bytes = 1) => {
    const offset = partition.fetchState.nextOffset ?? 0;
    const records = [{ offset, value: Buffer.alloc(bytes) }];
    const batch = rawBatch({ baseOffset: offset, lastOffset: offset, records });
    partition.receive(received([batch], offset + 1));
    assignment.updateFetching(partition);
  };
  let fetchedRecords = 0;
  const onFetched = (_: string, records: number) => {
    fetchedRecords += records;
  };
  const deliverMessages = (messages: object[], { from, to, isStale = false }: Omit<Fetched, 'offsets'>) => {
    const fetched = { topic: 't', partition: 0, fetchedOffset: `${from}` };
    const batch = { ...fetched, highWatermark: `${to + 1}`, rawMessages: messages, messages };
    const payload = {
      batch,
      isStale: () => isStale,
      isRunning: () => true,
      resolveOffset: (offset: string) => {
        resolved.push(offset);
      },
    };
    handleBatch({ logger, onFetched }, consumer, assignment, payload as unknown as EachBatchPayload);
  };
  /** Delivers one batch for each record, then the marker that stands for batches without records, up to `to`. */
  const deliver = ({ offsets, leaderEpoch = 0, ...fetch }: Fetched) => {
    const messages: object[] = offsets.map((offset) => ({
      offset: `${offset}`,
      batch: rawBatch({ baseOffset: offset, lastOffset: offset, records: [{ offset }], leaderEpoch }),
    }));
    if (!offsets.includes(fetch.to))
      messages.push({ offset: `${fetch.to}`, isControlRecord: true, key: null, leaderEpoch });
    deliverMessages(messages, fetch);
  };
  return {
    assignment,
    positions,
    paused,
    applied,
    seeks,
    resolved,
    assign,
    start,
    queueRecord,
    deliver,
    /** Delivers the error of a broker that cannot read the partition at an offset. */
    deliverError: (at: number, errorCode: number) =>
      deliverMessages([{ offset: `${at}`, error: createErrorFromCode(errorCode) }], { from: at, to: at }),
    logged,
    fetchedRecords: () => fetchedRecords,
    /** From now on `pause` and `resume` of the consumer throw `error`. */
    failFetchControl: (error: Error) => {
      fetchControlError = error;
    },
    restoreFetchControl: () => {
      fetchControlError = null;
    },
  };
}
