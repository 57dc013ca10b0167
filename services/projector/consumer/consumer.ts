import type { Admin, Consumer, Kafka } from 'kafkajs';
import type { Db } from 'mongodb';
import type { KafkaRecord } from '../events/change.ts';
import { createAssignment, type Assignment, type AssignmentDeps } from './assignment.ts';
import { resumePartitions } from './resume-partitions.ts';
import { oldestMs } from './complete-to.ts';
import type { LogClient } from '../kafka/log-client.ts';
import type { LogView } from './log-view.ts';
import { keyOf } from './partition-worker.ts';
import { createGapDetector } from './start-offsets.ts';
import type { Snapshot } from './progress.ts';
import { handleBatch } from './handle-batch.ts';

export type ConsumerDeps = AssignmentDeps & {
  kafka: Kafka;
  admin: Admin;
  log: LogClient;
  control: Db;
  groupId: string;
  generation: number;
  topics: string[];
  /** Without a heartbeat for this long, the group gives our partitions to others. */
  sessionTimeoutMs: number;
  /** When the record says that it happened, in milliseconds; null where it is no event. */
  timeOf: (topic: string, record: KafkaRecord) => number | null;
  /** The consumer cannot go on; the process must end with an error. */
  onFatal: (error: Error) => void;
};

export type RunningConsumer = {
  /** How far each partition of ours has been applied. */
  snapshot: () => Snapshot[];
  /** Whether each partition of ours is applied up to its end as last seen. */
  isCaughtUp: () => boolean;
  /** Partitions of ours whose place has not been found yet, as `<topic>/<partition>`. */
  withoutStartOffset: () => string[];
  /** Ends the process where the log is not what it was, as `createGapWatch` finds; to be called once a second. */
  detectGaps: (log: LogView) => void;
  /** Commits offsets up to the snapshot, which must have been recorded before. */
  commit: (snapshot: Snapshot[]) => Promise<void>;
  /** Finishes the steps under way, lets `beforeLeaving` commit, leaves the group. */
  stop: (beforeLeaving: () => Promise<void>) => Promise<void>;
};

/** How long a step may go on at shutdown before it is broken off, in milliseconds. */
const shutdownGraceMs = 15_000;

/**
 * Consumes the topics in the group: batches go to a bounded queue a partition at once, so that a slow
 * partition holds up no other and heartbeats go on; offsets are committed apart, after the effect. Where to read
 * on from is decided here and not by kafkajs: a partition is fetched once its place is found and sought.
 */
export async function startConsumer(deps: ConsumerDeps): Promise<RunningConsumer> {
  const assignment = createAssignment(deps);
  const consumer = createConsumer(deps);
  let stopping = false;
  listen(deps, consumer, assignment, () => stopping);
  await consumer.connect();
  await consumer.subscribe({ topics: deps.topics, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    // kafkajs never retries a TypeError of a handler and stalls on any other error: none may leave here.
    eachBatch: async (payload) => {
      try {
        if (!stopping) handleBatch(deps, consumer, assignment, payload);
      } catch (error) {
        deps.onFatal(error as Error);
      }
    },
  });
  const findGap = createGapDetector();
  return {
    snapshot: () => snapshot(deps, assignment),
    isCaughtUp: () => assignment.all().every(({ position, end }) => position !== null && position >= end),
    withoutStartOffset: () =>
      assignment.all().flatMap((item) => (item.position === null ? [keyOf(item)] : [])),
    detectGaps: (log) => {
      const gap = findGap(assignment.all(), log);
      if (gap && !stopping) deps.onFatal(gap);
    },
    commit: (recorded) => commitRecorded(consumer, assignment, recorded),
    stop: async (beforeLeaving) => {
      stopping = true;
      await Promise.all(assignment.all().map((partition) => partition.stop(shutdownGraceMs)));
      // Without it the group takes up further back, and applies again what it need not.
      await beforeLeaving().catch((error: unknown) =>
        deps.logger.warn({ error }, 'progress could not be recorded before leaving the group'),
      );
      await consumer.disconnect();
    },
  };
}

const createConsumer = ({ kafka, groupId, sessionTimeoutMs }: ConsumerDeps): Consumer =>
  kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    readUncommitted: false,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: sessionTimeoutMs / 10,
    rebalanceTimeout: 60_000,
    // A partition that is added is noticed within this time.
    metadataMaxAge: 10_000,
    // How long brokers hold back the answer while there is nothing new: news come at once. Between two answers
    // no heartbeat is sent, and a consumer that stops waits for one.
    maxWaitTimeInMs: Math.min(1_000, sessionTimeoutMs / 10),
    // Bounds what one fetch holds in memory before decompression; a partition takes 1 MB of it, or one batch.
    maxBytes: 4 * 1024 * 1024,
  });

function listen(
  deps: ConsumerDeps,
  consumer: Consumer,
  assignment: Assignment,
  isStopping: () => boolean,
): void {
  consumer.on(consumer.events.GROUP_JOIN, ({ payload: { memberAssignment } }) => {
    const partitions = assignment.replace(memberAssignment);
    consumer.pause(Object.entries(memberAssignment).map(([topic, some]) => ({ topic, partitions: some })));
    deps.logger.info({ partitions: partitions.length }, 'joined the group');
    const [first] = partitions;
    const isOurs = () => !isStopping() && first !== undefined && assignment.get(keyOf(first)) === first;
    void resumePartitions(deps, consumer, assignment, partitions, isOurs);
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (payload.restart || isStopping()) {
      deps.logger.warn({ error: payload.error }, 'the consumer failed and restarts');
    } else {
      deps.onFatal(payload.error);
    }
  });
}

const snapshot = ({ timeOf }: Pick<ConsumerDeps, 'timeOf'>, { all }: Assignment): Snapshot[] =>
  all().flatMap(({ topic, partition, position, appliedToMs, waiting, progressCount }) => {
    const waitingSinceMs = oldestMs(waiting(), (record) => timeOf(topic, record));
    return position === null
      ? []
      : [{ topic, partition, position, appliedToMs, waitingSinceMs, progressCount }];
  });

async function commitRecorded(
  consumer: Consumer,
  assignment: Assignment,
  recorded: Snapshot[],
): Promise<void> {
  const { committed, get } = assignment;
  const due = recorded.filter((item) => {
    const key = keyOf(item);
    return get(key) !== undefined && item.position > (committed.get(key) ?? -1);
  });
  if (due.length === 0) return;
  await consumer.commitOffsets(
    due.map(({ topic, partition, position }) => ({ topic, partition, offset: String(position) })),
  );
  for (const item of due) committed.set(keyOf(item), item.position);
}
