import { snapshot } from '../../../tests/support/snapshot.ts';
import { sweep, type SweepDeps } from './sweep.ts';
import { ownsSweep } from './sweeper.ts';

test.each([
  { name: 'partition 0 of the channels', topic: 'channels', partition: 0, position: 0, owns: true },
  { name: 'another partition of the channels', topic: 'channels', partition: 1, position: 0, owns: false },
  { name: 'partition 0 of another topic', topic: 'tags', partition: 0, position: 0, owns: false },
  { name: 'no partition yet', topic: 'channels', partition: 0, position: null, owns: false },
])(
  'the member of a group that has started $name sweeps: $topic/$partition at $position',
  ({ topic, partition, position, owns }) => {
    const assigned = snapshot({ topic: `support.${topic}`, partition, position });
    expect(ownsSweep([assigned], 'support.')).toBe(owns);
  },
);

test('a channel with many pages is continued after the other channels', async () => {
  const reads: string[] = [];
  const channels: Record<string, string[]> = { '': ['chan_1'], chan_1: ['chan_2'] };
  const messages = [{ _id: 'msg_1', revision: 1 }];
  const sweepStore = {
    readOrphans: async () => [],
    readChannels: async (after: string) => (channels[after] ?? []).map((id) => ({ id, orgId: 'org_1' })),
    readRetention: async () => 30,
    readConversations: async ({ id }: { id: string }, after: string) => {
      reads.push(id === 'chan_2' ? id : after);
      const isLast = id === 'chan_2' || after === '29';
      return isLast ? [] : [{ key: `${Number(after) + 1}`, updatedAt: new Date() }];
    },
    readExpiredMessages: async () => messages.splice(0),
  };
  const store = { write: async () => ({ conflicted: new Map(), refused: new Map() }) };
  const deps = { store, sweepStore, asOf: new Date(0), now: () => new Date(), tombstoneDays: 30 };
  const { signal } = new AbortController();
  const attempt = { signal, onProgress: () => undefined };
  const swept = await sweep({ ...deps, ...attempt, isComplete: true } as unknown as SweepDeps);
  expect(swept).toEqual({ conversations: 0, messages: 1 });
  // A page whose messages are purged is read again. A slice of a channel has 20 pages.
  const pages = ['', '', ...Array.from({ length: 29 }, (_, index) => `${index + 1}`)];
  expect(reads).toEqual([...pages.slice(0, 20), 'chan_2', ...pages.slice(20)]);
});
