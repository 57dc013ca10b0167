import { mayBecome, type PartitionState } from './partition-state.ts';

const states: Record<PartitionState['name'], PartitionState> = {
  'finding-start': { name: 'finding-start' },
  idle: { name: 'idle' },
  waiting: { name: 'waiting', cause: 'prerequisites' },
  applying: { name: 'applying', isConflicting: false },
  retrying: { name: 'retrying', isQueued: false },
  stopped: { name: 'stopped' },
};

test.each<[PartitionState['name'], PartitionState['name'][]]>([
  ['finding-start', ['applying', 'waiting', 'retrying']],
  ['idle', ['finding-start', 'retrying']],
  ['waiting', ['finding-start', 'idle']],
  ['applying', ['finding-start']],
  ['retrying', ['finding-start', 'idle', 'waiting']],
  ['stopped', ['finding-start', 'idle', 'waiting', 'applying', 'retrying']],
])('a partition that is %s does not become %j', (before, impossible) => {
  expect(impossible.filter((after) => mayBecome(states[before], states[after]))).toEqual([]);
});

test('a partition may stop in every other state', () => {
  const all = Object.values(states).filter(({ name }) => name !== 'stopped');
  expect(all.every((state) => mayBecome(state, states.stopped))).toBe(true);
});
