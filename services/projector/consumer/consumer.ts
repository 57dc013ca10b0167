import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Consumer, ConsumerGroupJoinEvent, Kafka } from 'kafkajs';
import type { Db } from 'mongodb';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { explainRefusal, joinedByConsumerProtocol } from '../../../shared/kafka/group-members.ts';
import type { LogClient, LogState } from '../../../shared/kafka/log-client.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { within } from '../../../shared/runtime/within.ts';
import type { AssignedPartitions } from '../partition/assigned-partitions.ts';
import type { Partition } from '../partition/partition.ts';
import { isStarted, type Snapshot } from '../partition/snapshot.ts';
import { createAssigner } from './assigner.ts';
import { type Assignment, type AssignmentDeps, createAssignment } from './assignment.ts';
import { createGapDetector, GapFound } from './gap-detector.ts';
import { handleBatch } from './handle-batch.ts';
import { createRestartPauses } from './restart-pauses.ts';
import { resumePartitions } from './start-offsets.ts';

/*
 * The steps from a record to its committed offset:
 *   poll     kafkajs fetches batches, and hands over each                handle-batch.ts
 *   queue    a partition queues the records, within a limit of bytes     ../partition/record-queue.ts
 *   apply    a partition applies its next records, small chunks grouped  ../partition/partition.ts, ../apply/apply.ts
 *   save     once a second, the progress and then the watermark          ../progress/commit-loop.ts
 *   commit   the saved positions                                         commitOffsets, below
 */

export type ConsumerDeps = AssignmentDeps & {
  kafka: Kafka;
  admin: Admin;
  log: LogClient;
  control: Db;
  logger: Logger;
  generation: number;
  groupId: string;
  /** The protocol by which this projector joins the group. */
  protocol: string;
  topics: string[];
  /** Without a heartbeat for this time, the group assigns the partitions of this process to other members. */
  sessionTimeoutMs: number;
  /**
   * Returns the offset at which the log of a partition began when the generation was registered, or at which an
   * operator has accepted since that it begins. The key is `<topic>/<partition>`.
   */
  beginningOf: (key: string) => number;
  /** Called with the number of records that were fetched and queued. */
  onFetched: (topic: string, records: number) => void;
  /** Another client has committed an offset of the group. */
  onForeignCommit: (topic: string) => void;
  /** The consumer cannot continue; the process must exit with an error. */
  onFatal: (error: Error) => void;
};

export type RunningConsumer = AssignedPartitions & {
  /** Finishes the chunks in progress, lets `beforeLeaving` commit, then leaves the group. */
  stop: (beforeLeaving: () => Promise<void>) => Promise<void>;
};

/** How long a chunk may continue at shutdown before it is aborted, in milliseconds. */
export const shutdownGraceMs = 15_000;

/**
 * The time limit of saving the progress, and that of leaving the group, in milliseconds. Both together fit into the
 * deadline that `main` sets.
 */
const leaveWithinMs = 3_000;

const noAnswer = (): never => {
  throw new Error(`no answer for ${leaveWithinMs / 1_000} s`);
};

/**
 * Consumes the topics as a member of the group. Each partition has a bounded queue, so that a slow partition does not
 * delay other partitions or heartbeats. This module, not kafkajs, decides where to start reading: it pauses a partition
 * until it has found the start offset.
 */
export async function startConsumer(deps: ConsumerDeps): Promise<RunningConsumer> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const consumer = createConsumer(deps, signal);
  const assignment = createAssignment(deps, consumer);
  handleGroupEvents(deps, consumer, assignment, signal);
  await consumer.connect();
  await consumer.subscribe({ topics: deps.topics, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    // No error may leave the handler, because kafkajs never retries a TypeError, and stalls on any other error.
    eachBatch: async (payload) => {
      try {
        if (!signal.aborted) handleBatch(deps, consumer, assignment, payload);
      } catch (error) {
        deps.onFatal(error as Error);
      }
    },
  });
  const findGaps = createGapDetector(deps.log);
  const takeSnapshot = (partition: Partition, ends: LogState['ends'] | undefined): Snapshot => {
    const key = partitionKey(partition);
    return partition.snapshot(ends?.get(key), assignment.positions.loadEnd(key));
  };
  /** Waits for a step of leaving the group, within its time limit. */
  const tryToLeave = async (step: Promise<void>, onFailed: (error: unknown) => void) => {
    try {
      await within(leaveWithinMs, step, noAnswer);
    } catch (error) {
      onFailed(error);
    }
  };
  return {
    onApplied: assignment.onApplied,
    snapshot: (ends) => assignment.partitions().map((partition) => takeSnapshot(partition, ends)),
    detectGaps: async (log) => {
      const gaps = await findGaps(assignment.partitions(), log);
      if (gaps.length > 0 && !signal.aborted) deps.onFatal(new GapFound(gaps));
    },
    commit: (snapshot) => commitOffsets(consumer, assignment, snapshot),
    stop: async (beforeLeaving) => {
      stopping.abort();
      await assignment.stop(shutdownGraceMs);
      // If this fails, the next owner starts from an earlier position and applies some records again.
      await tryToLeave(beforeLeaving(), (error) =>
        deps.logger.warn({ error }, 'could not save progress before leaving the group'),
      );
      // Between GROUP_JOIN and the first fetch, kafkajs resolves `disconnect` without leaving the group. The partitions
      // then have no owner until the session times out.
      await tryToLeave(consumer.disconnect(), (error) =>
        deps.logger.warn({ error }, 'could not leave the group'),
      );
    },
  };
}

function createConsumer(
  { kafka, groupId, protocol, sessionTimeoutMs, queuedBytesMax }: ConsumerDeps,
  stopping: AbortSignal,
): Consumer {
  const pauseMs = createRestartPauses();
  const restartOnFailure = async () => {
    await sleep(pauseMs(), undefined, { signal: stopping }).catch(() => undefined);
    return !stopping.aborted;
  };
  return kafka.consumer({
    groupId,
    partitionAssigners: [createAssigner(protocol)],
    allowAutoTopicCreation: false,
    readUncommitted: false,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: sessionTimeoutMs / 10,
    rebalanceTimeout: 60_000,
    // The consumer notices an added partition within this time.
    metadataMaxAge: 10_000,
    // A broker sends new records immediately, and otherwise answers after this time. The time is short, because kafkajs
    // sends no heartbeat before the answer, and a stopping consumer waits for the answer.
    maxWaitTimeInMs: Math.min(1_000, sessionTimeoutMs / 10),
    // Bounds the memory of one response.
    maxBytes: 4 * 1024 * 1024,
    // The limit of all partitions together, because kafkajs-patch.ts gives each partition an equal share.
    maxBytesPerPartition: queuedBytesMax / 2,
    retry: { retries: 5, restartOnFailure },
  });
}

function handleGroupEvents(
  deps: ConsumerDeps,
  consumer: Consumer,
  assignment: Assignment,
  stopping: AbortSignal,
) {
  let reassigned = new AbortController();
  const onPartitionsAssigned = ({ payload }: ConsumerGroupJoinEvent) => {
    const { memberAssignment, memberId, leaderId } = payload;
    // The coordinator, not a member, leads a group in which a member uses the consumer protocol (KIP-848).
    if (leaderId === '') {
      deps.onFatal(joinedByConsumerProtocol(deps.groupId));
      return;
    }
    reassigned.abort();
    reassigned = new AbortController();
    const partitions = assignment.replace(memberAssignment, memberId);
    deps.logger.info({ partitions: partitions.length }, 'joined the group');
    const signal = AbortSignal.any([stopping, reassigned.signal]);
    void resumePartitions(deps, consumer, assignment, partitions, signal);
  };
  consumer.on(consumer.events.GROUP_JOIN, onPartitionsAssigned);
  consumer.on(consumer.events.FETCH, () => {
    for (const partition of assignment.partitions()) partition.onFetched();
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    const { error, restart } = payload;
    if (restart || stopping.aborted) {
      deps.logger.warn({ error }, 'the consumer failed and restarts');
      return;
    }
    void explainRefusal(deps, error).then(deps.onFatal);
  });
}

/** The part of a partition that a commit reads and changes. */
type Committing = Pick<Partition, 'committed' | 'setCommitted'>;

/** Commits the positions that have moved since the last commit, of the partitions that are still assigned. */
export async function commitOffsets(
  consumer: Pick<Consumer, 'commitOffsets'>,
  assignment: { partition: (key: string) => Committing | undefined },
  snapshot: Snapshot[],
): Promise<void> {
  const offsets: { topic: string; partition: number; offset: string }[] = [];
  const committing: { assigned: Committing; position: number }[] = [];
  for (const { topic, partition, position } of snapshot.filter(isStarted)) {
    const assigned = assignment.partition(partitionKey({ topic, partition }));
    if (!assigned) continue;
    const { committed } = assigned;
    if (committed !== null && committed >= position) continue;
    offsets.push({ topic, partition, offset: String(position) });
    committing.push({ assigned, position });
  }
  if (offsets.length === 0) return;
  await consumer.commitOffsets(offsets);
  for (const { assigned, position } of committing) assigned.setCommitted(position);
}
