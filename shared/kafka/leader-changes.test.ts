import type { Batch } from 'kafkajs';
import { followLeaders } from './kafkajs-patch.ts';

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
