import type { Db } from 'mongodb';
import { readSkips, type SkippedOffsets } from '../../shared/control/ledger-store.ts';
import type { TopicPartition } from '../../shared/control/topic-partition.ts';
import { createLogLimit } from '../../shared/runtime/log-limit.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { Apply } from './hand-over.ts';
import type { CreatePartition } from './partition/assigned-partitions.ts';
import { Partition } from './partition/partition.ts';
import type { Positions } from './partition/positions.ts';
import { createRecordQueue } from './partition/record-queue.ts';
import { createWaitForPrerequisites } from './partition/wait-for-prerequisites.ts';
import { prerequisiteTopics } from './prerequisite-topics.ts';

/** The pause before a failed chunk is retried, in milliseconds. */
const retryDelayMs = 500;

type FactoryDeps = {
  control: Db;
  generation: number;
  apply: Apply;
  positions: Positions;
  /** The prefix of the topics. */
  prefix: string;
  logger: Logger;
  /** Called if a partition violates an invariant: the process must exit with an error. */
  onFatal: (error: Error) => void;
};

/** Returns the function by which the consumer creates each partition that the group assigns to this process. */
export function createPartitionFactory(deps: FactoryDeps): CreatePartition {
  const { apply, positions, prefix, logger, onFatal } = deps;
  const limitRefusals = createLogLimit();
  return ({ topic, partition }, { loadWithinBudget, chunkBytesMax, onApplied }) =>
    new Partition({
      topic,
      partition,
      queue: createRecordQueue({ partition, loadWithinBudget, chunkBytesMax }),
      apply,
      waitForPrerequisites: createWaitForPrerequisites(positions, (name) => prerequisiteTopics(name, prefix)),
      readSkips: (place) => tryReadSkips(deps, place),
      onApplied,
      onFatal,
      logger,
      limitRefusals,
      retryDelayMs,
    });
}

/** Reads the skips. If that fails, returns none, so that the failure does not block the partition. */
const tryReadSkips = ({ control, generation, logger }: FactoryDeps, { topic, partition }: TopicPartition) =>
  readSkips(control, generation, { topic, partition }).catch((error: unknown): SkippedOffsets => {
    logger.warn({ error, topic, partition }, 'could not read which records are skipped');
    return new Map();
  });
