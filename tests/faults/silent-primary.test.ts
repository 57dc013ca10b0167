import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { bulkWrite } from '../../shared/store/bulk-write.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { classifyStoreError } from '../../shared/store/errors.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { eventually } from '../support/eventually.ts';
import { describeOnMongo, startReplicaSet } from '../support/mongo-servers.ts';
import { useOpened } from '../support/use-opened.ts';

/** Writes of 12 MB, more than the buffers of a connection. The driver must therefore wait for the primary. */
const operations = Array.from({ length: 12 }, (_, index) => ({
  updateOne: {
    filter: { _id: `large_${index}` },
    update: { $set: { text: 'x'.repeat(1_000_000) } },
    upsert: true,
  },
}));
/** The limit of the write. The driver gives the primary up earlier, after twice its time-outs below. */
const limitMs = 5_000;
const timeouts = { heartbeatFrequencyMS: 1_000, connectTimeoutMS: 1_000 };
/** 6 MB of ids. */
const largeIds = Array.from({ length: 6 }, (_, index) => `${index}`.repeat(1_000_000));

/** Each read of the engine that names many ids. */
const readsOf = (store: Store, ids: string[]): Promise<unknown>[] => [
  store.readCurrent('ticket', ids),
  store.readEntities(new Map([['ticket', new Set(ids)]])),
  store.readRevisions(new Map([['ticket', new Set(ids)]])),
  store.readFirstChildren(
    'conversation',
    { parentField: 'ticketId', max: 2 },
    new Map(ids.map((id) => [id, 'org_1'])),
  ),
  store.findDependents('ticket', ids),
  store.readEnvelopes('ticket', ids),
];

describeOnMongo(['mongod'], 'a primary that falls silent', () => {
  const replicaSet = useOpened(() => startReplicaSet({ members: 1 }));

  test('does not block a large write for longer than the limit of the write', async () => {
    await using client = createMongo(replicaSet.url, 'test', { timeouts });
    const collection = client.db('silent').collection<{ _id: string }>('documents');
    await collection.insertOne({ _id: 'existing' });
    (await replicaSet.primary()).pause();
    const error = await bulkWrite(collection, operations, limitMs).catch((thrown: unknown) => thrown);
    expect({ error, errorClass: classifyStoreError(error).errorClass }).toEqual({
      error: expect.any(Error) as unknown,
      errorClass: 'transient',
    });
    // then a worker can repeat the write
    await replicaSet.restore();
    await bulkWrite(collection, operations);
    expect(await collection.countDocuments()).toBe(1 + operations.length);
  });

  test('does not block a large read of the engine forever', async () => {
    // The pool has a connection for each read. A read on a new connection would fail before it sends its command.
    await using client = createMongo(`${replicaSet.url}&minPoolSize=6`, 'test', { timeouts });
    let readyConnections = 0;
    client.on('connectionReady', () => {
      readyConnections += 1;
    });
    const database = client.db('silent_g1');
    await ensureIndexes(database);
    await eventually(() => readyConnections >= 6);
    (await replicaSet.primary()).pause();
    const outcomes = await Promise.allSettled(readsOf(mongoStore(database), largeIds));
    expect(
      outcomes.map((outcome) => 'reason' in outcome && classifyStoreError(outcome.reason).errorClass),
    ).toEqual(outcomes.map(() => 'transient'));
    await replicaSet.restore();
    expect((await mongoStore(database).readCurrent('ticket', largeIds)).documents).toEqual([]);
  });
});
