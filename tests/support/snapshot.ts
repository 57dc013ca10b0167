import type { Snapshot } from '../../services/projector/partition/snapshot.ts';

/** The state of partition 0 of topic `t`: no record is applied, unless `changes` says otherwise. */
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
