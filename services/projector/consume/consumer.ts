import type { Admin, Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import type { Db } from 'mongodb';
import type { BusRecord } from '../events/change.ts';
import { createAssignment, type Assignment, type AssignmentDeps } from './assignment.ts';
import type { Partition } from './partition.ts';
import type { Snapshot } from './progress.ts';
import { fetchGap, LogGap, place } from './place.ts';

export type ConsumeDeps = AssignmentDeps & {
  kafka: Kafka;
  admin: Admin;
  control: Db;
  groupId: string;
  generation: number;
  topics: string[];
  /** Without a heartbeat for this long, the group gives our partitions to others. */
  sessionTimeoutMs: number;
  /** The consumer cannot go on; the process must end with an error. */
  onFatal: (error: Error) => void;
};

export type Consuming = {
  /** How far each partition of ours has been applied. */
  snapshot: () => Snapshot[];
  /** How often it has fetched. */
  fetches: () => number;
  /** Commits offsets up to the snapshot, which must have been recorded before. */
  commit: (snapshot: Snapshot[]) => Promise<void>;
  /** Finishes the steps under way, lets `beforeLeaving` commit, leaves the group. */
  stop: (beforeLeaving: () => Promise<void>) => Promise<void>;
};

/** How long a step may go on at shutdown before it is broken off, in milliseconds. */
const shutdownGraceMs = 15_000;

/**
 * Consumes the topics in the group: batches go to a bounded queue a partition at once, so that a slow
 * partition holds up no other and heartbeats go on; offsets are committed apart, after the effect.
 */
export async function consume(deps: ConsumeDeps): Promise<Consuming> {
  const assignment = createAssignment(deps);
  const consumer = createConsumer(deps);
  let stopping = false;
  let fetches = 0;
  consumer.on(consumer.events.FETCH, () => void (fetches += 1));
  listen(deps, consumer, assignment, () => stopping);
  await consumer.connect();
  await consumer.subscribe({ topics: deps.topics, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    // kafkajs never retries a TypeError of a handler and stalls on any other error: none may leave here.
    eachBatch: async (payload) => {
      try {
        if (!stopping) take(deps, assignment, payload);
      } catch (error) {
        deps.onFatal(error as Error);
      }
    },
  });
  return {
    snapshot: () => snapshot(assignment),
    fetches: () => fetches,
    commit: (recorded) => commitRecorded(consumer, assignment, recorded),
    stop: async (beforeLeaving) => {
      stopping = true;
      await Promise.all(assignment.all().map((partition) => partition.stop(shutdownGraceMs)));
      await beforeLeaving();
      await consumer.disconnect();
    },
  };
}

const createConsumer = ({ kafka, groupId, sessionTimeoutMs }: ConsumeDeps): Consumer =>
  kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    readUncommitted: false,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: sessionTimeoutMs / 10,
    rebalanceTimeout: 60_000,
    // A partition that is added is noticed within this time.
    metadataMaxAge: 10_000,
    maxWaitTimeInMs: 250,
    maxBytesPerPartition: 1024 * 1024,
    maxBytes: 16 * 1024 * 1024,
  });

function listen(
  deps: ConsumeDeps,
  consumer: Consumer,
  assignment: Assignment,
  isStopping: () => boolean,
): void {
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    const partitions = assignment.replace(payload.memberAssignment);
    deps.logger.info({ partitions: partitions.length }, 'joined the group');
    void placeUntilDone(deps, partitions, assignment, isStopping);
  });
  // A batch of which nothing is left but control records or aborted ones never reaches the handler.
  consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
    const partition = assignment.get(`${payload.topic}/${payload.partition}`);
    if (payload.batchSize > 0 || !partition) return;
    partition.expected = Number(payload.lastOffset) + 1;
    assignment.queue(partition, { records: [], nextOffset: partition.expected, bytes: 0 });
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (payload.restart || isStopping()) {
      deps.logger.error({ error: payload.error }, 'the consumer failed and restarts');
    } else {
      deps.onFatal(payload.error);
    }
  });
}

/** Tries until the group's place is known, or the partitions have been reassigned, or the process stops. */
async function placeUntilDone(
  deps: ConsumeDeps,
  partitions: Partition[],
  assignment: Assignment,
  isStopping: () => boolean,
): Promise<void> {
  while (!isStopping() && partitions[0] && assignment.all().includes(partitions[0])) {
    try {
      return await place(deps, partitions, assignment.committed);
    } catch (error) {
      if (error instanceof LogGap) return deps.onFatal(error);
      deps.logger.warn({ error }, 'the offsets of the group could not be read; trying again');
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

function take(deps: ConsumeDeps, assignment: Assignment, payload: EachBatchPayload): void {
  const { batch } = payload;
  const partition = assignment.get(`${batch.topic}/${batch.partition}`);
  if (!partition || payload.isStale() || !payload.isRunning()) return;
  // `fetchedOffset` is on the batch, but not in kafkajs's types.
  const gap = fetchGap(partition, Number((batch as unknown as { fetchedOffset: string }).fetchedOffset));
  if (gap) return deps.onFatal(gap);
  const records = batch.messages.map((message) => busRecord(batch.partition, message));
  const bytes = records.reduce((sum, record) => sum + bytesHeld(record), 0);
  partition.expected = Number(batch.lastOffset()) + 1;
  payload.resolveOffset(batch.messages.at(-1)?.offset ?? batch.lastOffset());
  assignment.queue(partition, { records, nextOffset: partition.expected, bytes }, () => payload.pause());
}

type Message = EachBatchPayload['batch']['messages'][number];

const busRecord = (partition: number, message: Message): BusRecord => ({
  key: message.key,
  value: message.value,
  headers: message.headers ?? {},
  position: { partition, offset: Number(message.offset), timestampMs: Number(message.timestamp) },
});

/** About what a record takes in memory: each of its parts is an object of its own, which small values hide. */
const bytesHeld = ({ value, headers }: BusRecord): number =>
  (value?.length ?? 0) + 400 + 200 * Object.keys(headers).length;

const snapshot = ({ all }: Assignment): Snapshot[] =>
  all().flatMap(({ topic, partition, position, appliedToMs, touches, isWorking }) =>
    position === null ? [] : [{ topic, partition, position, appliedToMs, touches, isWorking: isWorking() }],
  );

async function commitRecorded(
  consumer: Consumer,
  assignment: Assignment,
  recorded: Snapshot[],
): Promise<void> {
  const { committed, get } = assignment;
  const due = recorded.filter(({ topic, partition, position }) => {
    const key = `${topic}/${partition}`;
    return get(key) !== undefined && position > (committed.get(key) ?? -1);
  });
  if (due.length === 0) return;
  await consumer.commitOffsets(
    due.map(({ topic, partition, position }) => ({ topic, partition, offset: String(position) })),
  );
  for (const { topic, partition, position } of due) committed.set(`${topic}/${partition}`, position);
}
