import type { Batch } from 'kafkajs';
import { classify } from './errors.ts';
import { fetchBatches } from './fetch-batches.ts';
import { followLeaders } from './kafkajs-patch.ts';
import { tryFetch } from './try-rights.ts';

/** The partitions that a fetch delivers if partition 0 has an error, and how often it reads the metadata. */
async function fetchWith(error: string) {
  const batches = [[{ offset: '5', error }], [{ offset: '5' }]].map(
    (messages, partition) => ({ partition, messages }) as unknown as Batch,
  );
  const refreshMetadata = jest.fn(() => Promise.resolve());
  const group = {
    cluster: { refreshMetadata },
    fetch: () => Promise.resolve(batches),
    recoverFromFetch: () => Promise.resolve(),
  };
  followLeaders({ consumerGroup: { prototype: group } });
  const delivered = (await group.fetch()).map(({ partition }) => partition);
  return { delivered, readings: refreshMetadata.mock.calls.length };
}

test('a fetch leaves out a partition that has another leader, delivers the others, and reads the metadata', async () => {
  expect(await fetchWith('NOT_LEADER_FOR_PARTITION')).toEqual({ delivered: [1], readings: 1 });
});

test('a fetch delivers the error of a partition that its leader cannot read', async () => {
  expect(await fetchWith('KAFKA_STORAGE_ERROR')).toEqual({ delivered: [0, 1], readings: 0 });
});

/** A cluster of one broker, which answers each fetch with this error. */
const clusterWith = (error: string) => ({
  addMultipleTargetTopics: () => Promise.resolve(),
  refreshMetadata: () => Promise.resolve(),
  findLeaderForPartitions: () => ({ 1: [0] }),
  findBroker: () =>
    Promise.resolve({
      fetch: () =>
        Promise.resolve({
          responses: [{ topicName: 't', partitions: [{ messages: [{ offset: '5', error }] }] }],
        }),
    }),
});

test.each([
  ['NOT_LEADER_FOR_PARTITION', 'transient'],
  ['CORRUPT_MESSAGE', 'bug'],
])('a read of one partition fails with the error of its broker: %s', async (error, errorClass) => {
  const reading = fetchBatches(clusterWith(error), { topic: 't', partition: 0 }, 5);
  const failure: unknown = await reading.catch((thrown: unknown) => thrown);
  expect(classify(failure).errorClass).toBe(errorClass);
  expect(String(failure)).toContain(`t/0 cannot be read at offset 5: ${error}`);
});

test('a topic counts as not tried if a broker does not lead its partition', async () => {
  const logs = { ends: new Map([['t/0', { end: 5 }]]), leaders: new Map([['t/0', 1]]), unreachable: [] };
  const untried = await tryFetch(clusterWith('NOT_LEADER_FOR_PARTITION'), ['t'], logs);
  expect([...untried]).toEqual([['t', 'NOT_LEADER_FOR_PARTITION']]);
});
