import { sweep, type SweepDeps } from './sweep.ts';
import { ownsSweep } from './sweeper.ts';

it.each([
  ['partition 0 of the channels', 'channels', 0, 0, true],
  ['another partition of the channels', 'channels', 1, 0, false],
  ['partition 0 of another topic', 'tags', 0, 0, false],
  ['no partition yet', 'channels', 0, -1, false],
])('the member of a group that has started %s sweeps: %s/%i at %i', (_, topic, partition, position, owns) => {
  const assigned = { topic: `support.${topic}`, partition, position, progressCount: 0, fanOutWaiting: 0 };
  expect(ownsSweep([assigned], 'support.')).toBe(owns);
});

test('every page of channels is read, and a channel with more pages than one turn has after the last of them', async () => {
  const keys: string[] = [];
  const channels: Record<string, string[]> = { '': ['chan_1'], chan_1: ['chan_2'] };
  let isLastRead = false;
  const sweepStore = {
    readOrphans: async () => [],
    readChannels: async (after: string) => (channels[after] ?? []).map((id) => ({ id, orgId: 'org_1' })),
    readRetention: async () => 30,
    readConversations: async ({ id }: { id: string }, after: string) => {
      if (id === 'chan_2') {
        isLastRead = true;
        return [];
      }
      keys.push(after);
      return keys.length < 30 ? [{ key: `${keys.length}`, updatedAt: new Date() }] : [];
    },
    readExpiredMessages: async () => [],
  };
  const store = { write: async () => ({ conflicted: new Set() }) };
  const deps = { store, sweepStore, asOf: new Date(0), now: () => new Date(), tombstoneDays: 30 };
  const { signal } = new AbortController();
  await sweep({ ...deps, signal, isComplete: true } as unknown as SweepDeps);
  expect(isLastRead).toBe(true);
  expect(keys).toEqual(['', ...Array.from({ length: 29 }, (_, index) => `${index + 1}`)]);
});
