import { ownsSweep } from './sweeper.ts';

it.each([
  ['partition 0 of the channels', 'channels', 0, true],
  ['another partition of the channels', 'channels', 1, false],
  ['partition 0 of another topic', 'tags', 0, false],
])('the member of a group that has started %s sweeps: %s/%i', (_, topic, partition, owns) => {
  expect(ownsSweep([{ topic: `support.${topic}`, partition }], 'support.')).toBe(owns);
});
