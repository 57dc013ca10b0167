import type { Consumer } from 'kafkajs';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { collectGarbage } from '../../../shared/runtime/heap.ts';
import type { AppliedChunk } from '../hand-over.ts';
import type { CreatePartition, SharedByPartitions } from '../partition/assigned-partitions.ts';
import { createBudget } from '../partition/budget.ts';
import type { Partition } from '../partition/partition.ts';
import type { Positions } from '../partition/positions.ts';
import { createFetchControl, placesIn } from './fetch-control.ts';

/** The largest share of the memory that one partition may take, even if it is the only one. */
const partitionShareMax = 1 / 8;

export type AssignmentDeps = {
  createPartition: CreatePartition;
  /**
   * The memory for fetched data, compressed: half for queued batches, half for the next fetch. Decompressed batches may
   * take another half. Each partition has an equal share, so that no partition waits for another. Only a single batch
   * may exceed its share. If such batches make all queues exceed this memory, each topic is still fetched up to its
   * part of it, so that no topic waits for another.
   */
  queuedBytesMax: number;
  positions: Positions;
};

type OnApplied = (partition: Partition, applied: AppliedChunk) => void;

/** The partitions that the group has assigned to this process. */
export type Assignment = {
  partitions: () => Partition[];
  partition: (key: string) => Partition | undefined;
  positions: Positions;
  /** Calls `listener` after each later chunk that is applied. */
  onApplied: (listener: OnApplied) => void;
  /**
   * Replaces the assigned partitions, and pauses all of them; `updateFetching` resumes them. Keeps a started partition
   * if the same member gets it again, and stops the other former ones.
   */
  replace: (memberAssignment: Record<string, number[]>, memberId: string) => Partition[];
  /** Pauses or resumes a partition whose queue has changed, and those that wait for memory. */
  updateFetching: (partition: Partition) => void;
  /**
   * Pauses a partition for a second, because its broker cannot deliver it now. Without the pause, the broker would
   * answer each fetch immediately, with the same error.
   */
  backOff: (partition: Partition) => void;
  /** Pauses every partition, so that no fetch is wasted, and stops them, each within `graceMs`. */
  stop: (graceMs: number) => Promise<unknown>;
};

/** Creates an assignment without partitions. `replace` adds them. */
export function createAssignment(
  deps: AssignmentDeps,
  consumer: Pick<Consumer, 'pause' | 'resume'>,
): Assignment {
  const { positions, queuedBytesMax } = deps;
  const assigned = new Map<string, Partition>();
  // One half is for queued batches, the other for the next fetch. Decompressed batches have a budget of the same size.
  const halfBytes = queuedBytesMax / 2;
  const shareBytes = () => halfBytes * Math.min(partitionShareMax, 1 / assigned.size);
  const fetches = createFetchControl({ assigned, positions, shareBytes, queuedBytesMax }, consumer);
  let lastMemberId: string | null = null;
  const observe = (partition: Partition) => {
    positions.observe(partitionKey(partition), { position: partition.position ?? 0 });
    fetches.update(partition);
  };
  const listeners: OnApplied[] = [observe];
  const shared: SharedByPartitions = {
    loadWithinBudget: createBudget(halfBytes, collectGarbage),
    chunkBytesMax: shareBytes,
    onApplied: (partition, applied) => {
      for (const listener of listeners) listener(partition, applied);
    },
  };
  return {
    partitions: () => [...assigned.values()],
    partition: (key) => assigned.get(key),
    positions,
    onApplied: (listener) => {
      listeners.push(listener);
    },
    replace: (memberAssignment, memberId) => {
      const formerPartitions = new Map(assigned);
      // A member that has lost its session gets another id. Other members may have applied more records since.
      const isSameMember = memberId === lastMemberId;
      lastMemberId = memberId;
      const topics = Object.entries(memberAssignment).map(([topic, partitions]) => ({ topic, partitions }));
      assigned.clear();
      for (const place of placesIn(topics)) {
        const key = partitionKey(place);
        const former = formerPartitions.get(key);
        if (isSameMember && former && former.position !== null) {
          former.commitAgain();
          assigned.set(key, former);
        } else {
          assigned.set(key, deps.createPartition(place, shared));
        }
      }
      // A chunk that ends late is harmless, because each of its writes is guarded.
      for (const [key, former] of formerPartitions) {
        if (assigned.get(key) !== former) void former.stop(0);
      }
      fetches.pauseAll(topics);
      return [...assigned.values()];
    },
    updateFetching: fetches.update,
    backOff: fetches.backOff,
    stop: (graceMs) => {
      fetches.stop();
      return Promise.all([...assigned.values()].map((partition) => partition.stop(graceMs)));
    },
  };
}
