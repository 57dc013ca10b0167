import type { HoldCause } from '../../../shared/control/hold-causes.ts';

/** The state of a partition. It tells why its records wait. */
export type PartitionState =
  /** It is assigned, and not fetched: its start offset is not found yet. */
  | { name: 'finding-start' }
  /** Its queue is empty: it waits for records. */
  | { name: 'idle' }
  /** Its next chunk waits for the topics that its documents refer to, or for the chunk of another partition. */
  | { name: 'waiting-for-turn'; behind: 'prerequisites' | 'one_at_a_time' }
  /** A chunk is taken from the queue and applied. `isConflicting`: its documents are written again and again. */
  | { name: 'applying'; isConflicting: boolean }
  /**
   * An attempt has failed. The next one comes after a pause, and may be in progress. `isQueued`: it waits for the chunk
   * of another partition.
   */
  | { name: 'retrying'; isQueued: boolean }
  /** No further chunk is begun. The one in progress may still end. No other state follows. */
  | { name: 'stopped' };

/** Why the records of a partition wait, if there are any. Null once it is stopped: the recorded cause stays. */
export function causeOf(state: PartitionState, fanOutWaiting: number): HoldCause | null {
  switch (state.name) {
    case 'finding-start':
      return 'starting';
    case 'idle':
      return 'backlog';
    case 'waiting-for-turn':
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
  state.name === 'retrying'
    ? state.isQueued
    : state.name === 'waiting-for-turn' && state.behind === 'one_at_a_time';
