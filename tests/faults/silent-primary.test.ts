import { bulkWrite } from '../../shared/store/bulk-write.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { isTransientStoreError } from '../../shared/store/transient-errors.ts';
import { describeOnMongo, startReplicaSet } from '../support/mongo-servers.ts';
import { useOpened } from '../support/use-opened.ts';

/** More than the buffers of a connection hold. */
const operations = Array.from({ length: 12 }, (_, index) => ({
  updateOne: {
    filter: { _id: `large_${index}` },
    update: { $set: { text: 'x'.repeat(1_000_000) } },
    upsert: true,
  },
}));
/** Longer than the driver takes to give the primary up: twice its limit below. */
const limitMs = 5_000;

describeOnMongo(['mongod'], 'a primary that falls silent', () => {
  const replicaSet = useOpened(() => startReplicaSet({ members: 1 }));

  test('holds a large write no longer than its limit, and the write can be repeated', async () => {
    const timeouts = { heartbeatFrequencyMS: 1_000, connectTimeoutMS: 1_000 };
    await using client = createMongo(replicaSet.url, 'test', { timeouts });
    const collection = client.db('silent').collection<{ _id: string }>('documents');
    await collection.insertOne({ _id: 'first' });
    (await replicaSet.primary()).pause();
    const error = await bulkWrite(collection, operations, limitMs).catch((thrown: unknown) => thrown);
    expect([error, isTransientStoreError(error)]).toEqual([expect.any(Error), true]);
    await replicaSet.mend();
    await bulkWrite(collection, operations);
    expect(await collection.countDocuments()).toBe(1 + operations.length);
  });
});
