import type { Admin, Consumer, Kafka } from 'kafkajs';
import type { Db } from 'mongodb';
import { createAssignment, type Assignment, type AssignmentDeps } from './assignment.ts';
import { beginWhenPlaced } from './begin.ts';
import { keyOf } from './partition.ts';
import { createGapWatch } from './place.ts';
import type { Snapshot } from './progress.ts';
import { take } from './take.ts';
import { handOverEveryBatch } from './whole-batches.ts';

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
  /** Partitions of ours whose place has not been found yet, as `<topic>/<partition>`. */
  unplaced: () => string[];
  /** Ends the process where records were deleted before they were fetched; to be called once a second. */
  watchGaps: (ends: Map<string, { low: number; end: number }>) => void;
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
export async function consume(deps: ConsumeDeps): Promise<Consuming> {
  handOverEveryBatch();
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
        if (!stopping) take(deps, consumer, assignment, payload);
      } catch (error) {
        deps.onFatal(error as Error);
      }
    },
  });
  const findGap = createGapWatch();
  return {
    snapshot: () => snapshot(assignment),
    unplaced: () => assignment.all().flatMap((item) => (item.position === null ? [keyOf(item)] : [])),
    watchGaps: (ends) => {
      const gap = findGap(assignment.all(), ends);
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
    // More than a broker takes in one batch by default: kafkajs gets nowhere where a batch that compaction has
    // emptied leaves no room for the one behind it.
    maxBytesPerPartition: 2 * 1024 * 1024,
    maxBytes: 16 * 1024 * 1024,
  });

function listen(
  deps: ConsumeDeps,
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
    void beginWhenPlaced(deps, consumer, assignment, partitions, isOurs);
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (payload.restart || isStopping()) {
      deps.logger.warn({ error: payload.error }, 'the consumer failed and restarts');
    } else {
      deps.onFatal(payload.error);
    }
  });
}

const snapshot = ({ all }: Assignment): Snapshot[] =>
  all().flatMap(({ topic, partition, position, appliedToMs, touches }) =>
    position === null ? [] : [{ topic, partition, position, appliedToMs, touches }],
  );

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
