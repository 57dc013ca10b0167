import { createReadBudget, replyBytesMax } from './read-budget.ts';
import { createReaders } from './reader.ts';

const bytesMax = 4 * replyBytesMax;
const document = { kind: 'ticket' as const, items: 1 };
const nothing = { replyItems: 0, replyBytes: 0 };

/** Readers of one organization; by default, a budget without capacity refuses their reads at once. */
function open(waitMs = 1) {
  const openReader = createReaders({
    budget: createReadBudget({ bytesMax, connectionsMax: 10, waitMs }),
    scanEntriesMax: 100,
    nowMs: () => 0,
    requireCollections: async () => undefined,
    onUnreadable: () => undefined,
  });
  const snapshot = { database: {}, generation: 1, readAfter: null } as Parameters<typeof openReader>[1];
  const caller = { orgId: 'org_a', keyId: 'key_a' };
  const reader = openReader(caller, snapshot);
  const otherReader = openReader(caller, snapshot);
  const hasCapacity = () =>
    otherReader
      .read(document, async () => nothing)
      .then(
        () => true,
        () => false,
      );
  return { reader, other: otherReader, hasCapacity };
}

test('the bytes of a request count until their release or the end of the request', async () => {
  const { reader, hasCapacity } = open();
  for (let times = 0; times < 4; times += 1) {
    await expect(reader.read(document, () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    await reader.read(document, async () => nothing);
  }
  expect(await hasCapacity()).toBe(true);
  const release = reader.hold(bytesMax);
  expect(await hasCapacity()).toBe(false);
  release();
  expect(await hasCapacity()).toBe(true);
  const releaseLate = reader.hold(bytesMax);
  reader.end();
  releaseLate();
  expect(await hasCapacity()).toBe(true);
  // Bytes that are held after the end do not count.
  reader.hold(bytesMax);
  expect(await hasCapacity()).toBe(true);
});

test('the reads of a client that has left are refused, even a read that waits', async () => {
  const { reader, other } = open(60_000);
  other.hold(bytesMax);
  const waiting = reader.read(document, async () => nothing);
  reader.end();
  await expect(waiting).rejects.toThrow('the client has left');
  const run = jest.fn(async () => nothing);
  await expect(reader.read(document, run)).rejects.toThrow('the client has left');
  expect(run).not.toHaveBeenCalled();
});

test('small documents leave capacity for more reads at once', async () => {
  const { reader } = open();
  await reader.read(document, async () => ({ replyItems: 1, replyBytes: 1_000 }));
  let inProgress = 0;
  const allStarted = Promise.withResolvers<typeof nothing>();
  const run = () => {
    inProgress += 1;
    if (inProgress === 8) allStarted.resolve(nothing);
    return allStarted.promise;
  };
  await Promise.all(Array.from({ length: 8 }, () => reader.read(document, run)));
});
