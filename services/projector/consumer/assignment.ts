import type { Consumer } from 'kafkajs';
import { collectGarbage } from '../../../shared/runtime/heap.ts';
import { createLogLimit } from '../../../shared/runtime/log-limit.ts';
import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import { createPartitionWorker, type PartitionWorker, type PartitionWorkerDeps } from './partition-worker.ts';
import { createBudget, createRecordQueue } from './record-queue.ts';
import type { Positions } from './positions.ts';
import { createWaitForTurn } from './wait-for-turn.ts';

/** How long a partition that its broker cannot read is not fetched, in milliseconds. */
const restMs = 1_000;

/** The largest share of the memory that one partition may take, however few partitions are assigned. */
const partitionShareMax = 1 / 8;

export type Assignment = ReturnType<typeof createAssignment>;

export type AssignmentDeps = Pick<PartitionWorkerDeps, 'apply' | 'readSetAside' | 'onApplied' | 'logger'> & {
  /**
   * The fetched bytes that all partitions together may hold, compressed, and half as many decompressed. Each partition has an
   * equal share, so that no partition waits for another. One batch may exceed it, and one decompressed batch.
   */
  queuedBytesMax: number;
  positions: Positions;
  /** The topics whose entities the documents of a topic refer to. */
  prerequisitesOf: (topic: string) => string[];
};

/**
 * kafkajs throws at `pause` and `resume` while it restarts a consumer that has lost its brokers. Once the consumer is
 * back in its group, all its partitions are paused and started again.
 */
function ignoreRestart(change: () => void): void {
  try {
    change();
  } catch (error) {
    if (!String(error).includes('Consumer group was not initialized')) throw error;
  }
}

/** The partitions that the group has assigned to this process, each with its worker and its share of the memory. */
export function createAssignment(deps: AssignmentDeps, consumer: Pick<Consumer, 'pause' | 'resume'>) {
  const { positions } = deps;
  const assigned = new Map<string, PartitionWorker>();
  // One half holds queued batches, the other the next fetch. The budget of decompressed batches is as large as one half.
  const halfBytes = deps.queuedBytesMax / 2;
  const shareBytes = () => halfBytes * Math.min(partitionShareMax, 1 / assigned.size);
  const paused = new Set<string>();
  const resting = new Set<PartitionWorker>();
  let [ownId, isStopping] = ['', false];
  /** Pauses the partition of a worker or resumes it: it is fetched below its share of the memory, up to its load end. */
  const updateFetching = (worker: PartitionWorker): void => {
    const { topic, partition, nextFetchOffset } = worker;
    const key = partitionKey(worker);
    if (assigned.get(key) !== worker || nextFetchOffset === null) return;
    const hasRoom = !resting.has(worker) && worker.queuedBytes() <= shareBytes();
    const isDue = !isStopping && hasRoom && nextFetchOffset < positions.loadEnd(key);
    if (isDue !== paused.has(key)) return;
    paused[isDue ? 'delete' : 'add'](key);
    ignoreRestart(() => consumer[isDue ? 'resume' : 'pause']([{ topic, partitions: [partition] }]));
  };
  positions.onLoadChange(() => [...assigned.values()].forEach(updateFetching));
  const queue = { budget: createBudget(halfBytes, collectGarbage), chunkBytesMax: shareBytes };
  const limitRefusals = createLogLimit();
  const create = (place: TopicPartition) =>
    createWorker({ ...deps, limitRefusals }, place, queue, updateFetching);
  return {
    workers: (): PartitionWorker[] => [...assigned.values()],
    worker: (key: string): PartitionWorker | undefined => assigned.get(key),
    positions,
    /**
     * Replaces the assigned partitions, and pauses them. A started worker goes on if the same member has its partition again;
     * the other workers are stopped.
     */
    replace: (memberAssignment: Record<string, number[]>, memberId: string): PartitionWorker[] => {
      const before = new Map(assigned);
      assigned.clear();
      const topics = Object.entries(memberAssignment).map(([topic, partitions]) => ({ topic, partitions }));
      for (const { topic, partitions } of topics)
        for (const partition of partitions) {
          const key = partitionKey({ topic, partition });
          const worker = before.get(key);
          // After a lost session others may have got further.
          const goesOn = memberId === ownId && worker && worker.position !== null;
          if (goesOn) worker.committed = -1;
          assigned.set(key, goesOn ? worker : create({ topic, partition }));
          paused.add(key);
        }
      ownId = memberId;
      // A batch that ends late does no harm: its writes are guarded, like those of a member that has lost its session.
      for (const [key, worker] of before) if (assigned.get(key) !== worker) void worker.stop(0);
      consumer.pause(topics);
      return [...assigned.values()];
    },
    updateFetching,
    /** Pauses a partition that its broker cannot read for a second: the error would be the answer to each fetch, at once. */
    rest: (worker: PartitionWorker): void => {
      // A restart of this process would not help: the partition does not count as stuck.
      worker.progressCount += 1;
      resting.add(worker);
      updateFetching(worker);
      setTimeout(() => void (resting.delete(worker) && updateFetching(worker)), restMs).unref();
    },
    /** Pauses every partition, so that no fetch is wasted, and stops the workers, each within `graceMs`. */
    stop: (graceMs: number): Promise<unknown> => {
      isStopping = true;
      for (const worker of assigned.values()) updateFetching(worker);
      return Promise.all([...assigned.values()].map((worker) => worker.stop(graceMs)));
    },
  };
}

function createWorker(
  deps: AssignmentDeps & Pick<PartitionWorkerDeps, 'limitRefusals'>,
  place: TopicPartition,
  queue: Pick<Parameters<typeof createRecordQueue>[0], 'budget' | 'chunkBytesMax'>,
  updateFetching: (worker: PartitionWorker) => void,
): PartitionWorker {
  return createPartitionWorker({
    ...deps,
    ...place,
    retryDelayMs: 500,
    queue: createRecordQueue({ partition: place.partition, ...queue }),
    waitForTurn: createWaitForTurn(deps.positions, deps.prerequisitesOf),
    onApplied: (worker, applied) => {
      deps.positions.observe(partitionKey(worker), { position: worker.position ?? 0 });
      deps.onApplied(worker, applied);
      updateFetching(worker);
    },
  });
}
