import type { HoldCause } from '../../../shared/control/hold-causes.ts';

/** The state of a partition. It shows why its records wait. */
export type PartitionState =
  /** The group has assigned the partition, but fetching waits for its start offset. */
  | { name: 'finding-start' }
  /** Its queue is empty: it waits for records. */
  | { name: 'idle' }
  /** Its next chunk waits for the topics that its documents refer to, or for the chunk of another partition. */
  | { name: 'waiting'; behind: 'prerequisites' | 'one_at_a_time' }
  /** A chunk is taken from the queue and applied. `isConflicting`: its documents are written again and again. */
  | { name: 'applying'; isConflicting: boolean }
  /**
   * An attempt has failed. The next one comes after a pause, and may be in progress. `isQueued`: it waits for the chunk
   * of another partition.
   */
  | { name: 'retrying'; isQueued: boolean }
  /** No further chunk is begun. The one in progress may still end. No other state follows. */
  | { name: 'stopped' };

/*
 * The life of a partition. It may stop in every state.
 *
 *   finding-start ──start──→ idle ──records──→ waiting ──its chunk is next──→ applying ──queue is empty──→ idle
 *                                                      ↑                       │    ↑
 *                                                      └──next or shared chunk──┤    └──an attempt succeeds──┐
 *                                                                              └──an attempt fails──→ retrying
 */
const followers: Record<PartitionState['name'], PartitionState['name'][]> = {
  'finding-start': ['idle', 'stopped'],
  idle: ['waiting', 'applying', 'stopped'],
  // A chunk that waits for another one may fail: it is then retried.
  waiting: ['waiting', 'applying', 'retrying', 'stopped'],
  applying: ['applying', 'waiting', 'retrying', 'idle', 'stopped'],
  retrying: ['retrying', 'applying', 'stopped'],
  stopped: [],
};

/** Whether a state may follow another one. */
export const mayFollow = (before: PartitionState, after: PartitionState): boolean =>
  followers[before.name].includes(after.name);

/** Why the records of a partition wait, if there are any. Null once it is stopped: the recorded cause stays. */
export function causeOf(state: PartitionState, fanOutWaiting: number): HoldCause | null {
  switch (state.name) {
    case 'finding-start':
      return 'starting';
    case 'idle':
      return 'backlog';
    case 'waiting':
      return state.behind;
    case 'applying':
      if (state.isConflicting) return 'conflicting';
      return fanOutWaiting > 0 ? 'fan_out' : 'backlog';
    case 'retrying':
      return 'failing';
    case 'stopped':
      return null;
  }
}

/** Whether the chunk waits for the chunk of another partition. */
export const isQueued = (state: PartitionState): boolean =>
  state.name === 'retrying' ? state.isQueued : state.name === 'waiting' && state.behind === 'one_at_a_time';
