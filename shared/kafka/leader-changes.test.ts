import type { Batch } from 'kafkajs';
import { classify } from './errors.ts';
import { fetchBatches } from './fetch-batches.ts';
import { followLeaders } from './kafkajs-patch.ts';
import { createErrorFromCode } from './protocol-errors.ts';
import { tryFetch } from './try-rights.ts';

const notLeader = 6;
const storageError = 56;

/** The partitions that a fetch delivers if partition 0 has an error, and how often it reads the metadata. */
async function fetchWith(errorCode: number) {
  const error = createErrorFromCode(errorCode);
  const batches = [
    { partition: 0, rawMessages: [{ offset: '5', error }] },
    { partition: 1, rawMessages: [{ offset: '5' }] },
  ] as unknown as Batch[];
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
  expect(await fetchWith(notLeader)).toEqual({ delivered: [1], readings: 1 });
});

test('a fetch delivers the error of a partition that its leader cannot read', async () => {
  expect(await fetchWith(storageError)).toEqual({ delivered: [0, 1], readings: 0 });
});

/** A cluster of one broker, which answers each fetch with these messages of one partition. */
function clusterWith(messages: object[]) {
  const answer = { responses: [{ topicName: 't', partitions: [{ messages }] }] };
  const broker = { fetch: () => Promise.resolve(answer) };
  return {
    addMultipleTargetTopics: () => Promise.resolve(),
    refreshMetadata: () => Promise.resolve(),
    findLeaderForPartitions: () => ({ 1: [0] }),
    findBroker: () => Promise.resolve(broker),
  };
}

/** The messages of a partition that a broker cannot read. */
const failing = (code: number) => [{ offset: '5', error: createErrorFromCode(code) }];
const place = { topic: 't', partition: 0 };

test.each([
  [notLeader, 'NOT_LEADER_FOR_PARTITION'],
  [2, 'CORRUPT_MESSAGE'],
  [7, 'REQUEST_TIMED_OUT'],
  [9, 'REPLICA_NOT_AVAILABLE'],
  [120, 'Unknown error code 120'],
])('a read of one partition fails with the error %i of its broker, which may pass', async (code, text) => {
  const reading = fetchBatches(clusterWith(failing(code)), place, 5);
  const failure: unknown = await reading.catch((thrown: unknown) => thrown);
  expect(classify(failure).errorClass).toBe('transient');
  expect(String(failure)).toContain(`t/0 cannot be read at offset 5: ${text}`);
});

test('a read of one partition finds no record at an offset outside its log', async () => {
  expect(await fetchBatches(clusterWith(failing(1)), place, 5)).toBeNull();
});

/* A new leader delivers nothing above its high watermark, which it may learn only later. */
test('a read of one partition fails if its leader delivers nothing, because the log may have the record', async () => {
  const reading = fetchBatches(clusterWith([]), place, 5);
  await expect(reading).rejects.toThrow('t/0 cannot be read at offset 5: its leader delivers nothing');
});

/* kafkajs reads its metadata from one broker, which may not know the partition, or no leader of it. */
test.each([
  ['that is unknown to a broker', {}],
  ['without a leader', { '-1': [0] }],
])('a read of one partition %s fails', async (_, leaders) => {
  const cluster = { ...clusterWith([]), findLeaderForPartitions: () => leaders };
  const failure: unknown = await fetchBatches(cluster, place, 5).catch((thrown: unknown) => thrown);
  expect(classify(failure).errorClass).toBe('transient');
  expect(String(failure)).toContain('t/0 cannot be read at offset 5: it has no leader');
});

test.each([
  ['does not lead its partition', failing(notLeader), 'NOT_LEADER_FOR_PARTITION'],
  [
    'only answers that a quota throttles this client',
    [{ offset: '5', throttledMs: 90 }],
    'a quota throttles this client, by 90 ms',
  ],
])('a topic counts as not tried if a broker %s', async (_, messages, reason) => {
  const logs = { ends: new Map([['t/0', { end: 5 }]]), leaders: new Map([['t/0', 1]]), unreachable: [] };
  const untried = await tryFetch(clusterWith(messages), ['t'], logs);
  expect([...untried]).toEqual([['t', reason]]);
});
