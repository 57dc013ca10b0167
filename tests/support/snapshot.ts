import type { Snapshot } from '../../services/projector/partition/snapshot.ts';

/** How far partition 0 of topic `t` was applied: nothing of it, but for `changes`. */
export const snapshot = (changes: Partial<Snapshot>): Snapshot => ({
  topic: 't',
  partition: 0,
  position: 0,
  leaderEpoch: -1,
  topicId: null,
  progressCount: 0,
  fanOutWaiting: 0,
  ...changes,
});
