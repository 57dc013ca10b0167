import type { HoldCause } from '../../../shared/control/hold-causes.ts';

/** The state of a partition, which shows why its records wait. */
export type PartitionState =
  /** The group has assigned the partition, but fetching waits for its start offset. */
  | { name: 'finding-start' }
  /** Its queue is empty: it waits for records. */
  | { name: 'idle' }
  /** Its next chunk waits for the topics that its documents refer to, or for the chunk of another partition. */
  | { name: 'waiting'; cause: 'prerequisites' | 'one_at_a_time' }
  /** A chunk is taken from the queue and applied. `isConflicting`: its documents are written again and again. */
  | { name: 'applying'; isConflicting: boolean }
  /**
   * An attempt has failed. The next one comes after a pause, or is in progress. `isQueued`: it waits for the chunk of
   * another partition.
   */
  | { name: 'retrying'; isQueued: boolean }
  /** The partition begins no further chunk. The chunk in progress may still end. No other state follows. */
  | { name: 'stopped' };

/** The usual state while a chunk is applied. */
export const applying: PartitionState = { name: 'applying', isConflicting: false };

/*
 * The life of a partition. A partition may stop in every state. `waiting`, `applying` and
 * `retrying` may also follow themselves: only the details change.
 *
 *   finding-start ──its start offset is found──→ idle
 *   idle          ──records are queued─────────→ waiting or applying
 *   waiting       ──its chunk may be applied───→ applying
 *   waiting       ──an attempt fails───────────→ retrying
 *   applying      ──its chunk must wait────────→ waiting
 *   applying      ──the queue is empty─────────→ idle
 *   applying      ──an attempt fails───────────→ retrying
 *   retrying      ──an attempt succeeds────────→ applying
 */
const nextStates: Record<PartitionState['name'], PartitionState['name'][]> = {
  'finding-start': ['idle', 'stopped'],
  idle: ['waiting', 'applying', 'stopped'],
  // An attempt may fail while its chunk waits for the chunk of another partition.
  waiting: ['waiting', 'applying', 'retrying', 'stopped'],
  applying: ['applying', 'waiting', 'retrying', 'idle', 'stopped'],
  retrying: ['retrying', 'applying', 'stopped'],
  stopped: [],
};

/** Whether a partition may enter the state `next` from the state `current`. */
export const mayBecome = (current: PartitionState, next: PartitionState): boolean =>
  nextStates[current.name].includes(next.name);

/**
 * Returns the cause of the wait of a partition's records, if it has any. Null for a stopped partition, which keeps the
 * last saved cause.
 */
export function causeOf(state: PartitionState, fanOutWaiting: number): HoldCause | null {
  switch (state.name) {
    case 'finding-start':
      return 'starting';
    case 'idle':
      return 'backlog';
    case 'waiting':
      return state.cause;
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
  state.name === 'retrying' ? state.isQueued : state.name === 'waiting' && state.cause === 'one_at_a_time';
