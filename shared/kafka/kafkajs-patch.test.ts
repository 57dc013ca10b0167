import { createRequire } from 'node:module';
import type { Batch } from 'kafkajs';
import {
  batchBytes,
  emptyResponseBytes,
  type ExamplePartition,
  oldMessageBytes,
  responseBytes,
} from '../../tests/support/example-responses.ts';
import type { BatchMessage } from './fetch-decoder.ts';
import { installedKafkajs, patchKafkajs, readPartitionFetch } from './kafkajs-patch.ts';

const require = createRequire(import.meta.url);
const KafkajsBatch = require('kafkajs/src/consumer/batch') as new (
  topic: string,
  fetchedOffset: string,
  data: object,
) => Batch;
const parts = installedKafkajs();

beforeAll(() => patchKafkajs());

/**
 * The batches that kafkajs creates from a response's bytes, each fetched from `from`. In the request, the topic has an
 * entry of its own for each partition, because kafkajs shuffles the partitions of its requests.
 */
async function fetched(from: number, ...partitions: ExamplePartition[]): Promise<Batch[]> {
  const topics = partitions.map(({ partition = 0 }) => ({
    topic: 't',
    partitions: [{ partition, fetchOffset: String(from) }],
  }));
  const { response } = parts.fetch.protocol({ version: 11 })({ topics });
  const { responses } = await response.parse(await response.decode(responseBytes(...partitions)));
  return responses.flatMap(({ topicName, partitions: read }) =>
    read.map((data) => new KafkajsBatch(topicName, String(from), data)),
  );
}

/** The last offsets of the batches that reach a handler, and the offset up to which kafkajs considers the log read. */
async function delivered(from: number, partition: ExamplePartition) {
  const [batch] = await fetched(from, partition);
  if (!batch) return null;
  return {
    offsets: batch.messages.map(({ offset }) => Number(offset)),
    lastOffset: Number(batch.lastOffset()),
  };
}

const data = (offset: number, producerId: number) => ({
  baseOffset: offset,
  lastOffset: offset,
  records: [{ offset }],
  producerId,
  isTransactional: true,
});
const marker = (offset: number, producerId: number, ends: 'commit' | 'abort') => ({
  ...data(offset, producerId),
  ends,
});
const emptied = (baseOffset: number, lastOffset: number) => ({ baseOffset, lastOffset, records: [] });

describe('a batch', () => {
  test.each([
    {
      name: 'that compaction has emptied',
      bytes: batchBytes(emptied(5, 9)),
      from: 5,
      offsets: [],
      lastOffset: 9,
    },
    {
      name: 'emptied, and fetched from its middle',
      bytes: batchBytes(emptied(5, 9)),
      from: 7,
      offsets: [],
      lastOffset: 9,
    },
    {
      name: 'emptied, after records',
      bytes: batchBytes(data(4, 1), emptied(5, 9)),
      from: 4,
      offsets: [4],
      lastOffset: 9,
    },
    {
      name: 'emptied, before a truncated batch',
      bytes: truncated(batchBytes(emptied(5, 9), data(10, 1))),
      from: 5,
      offsets: [],
      lastOffset: 9,
    },
    {
      name: 'whose last records compaction has removed',
      bytes: batchBytes({ ...data(5, 1), lastOffset: 9 }),
      from: 5,
      offsets: [9],
      lastOffset: 9,
    },
    {
      name: 'fetched from after its last record',
      bytes: batchBytes({ ...data(5, 1), lastOffset: 9 }),
      from: 6,
      offsets: [9],
      lastOffset: 9,
    },
    {
      name: 'of control records only',
      bytes: batchBytes(marker(5, 1, 'commit')),
      from: 5,
      offsets: [],
      lastOffset: 5,
    },
  ])('$name is delivered, and read up to its last offset', async ({ bytes, from, offsets, lastOffset }) => {
    expect(await delivered(from, { bytes })).toEqual({ offsets, lastOffset });
    const [batch] = await fetched(from, { bytes });
    expect(batch?.isEmpty()).toBe(false);
  });

  test('that is truncated is left to a later fetch', async () => {
    expect(await delivered(5, { bytes: truncated(batchBytes(data(5, 1), data(6, 1))) })).toEqual({
      offsets: [5],
      lastOffset: 5,
    });
    expect(await delivered(5, { bytes: truncated(batchBytes(data(5, 1))) })).toBeNull();
    expect(await delivered(5, { bytes: Buffer.alloc(9) })).toBeNull();
  });

  test('keeps only its own bytes of the response in memory', async () => {
    const bytes = batchBytes(data(5, 1));
    const [batch] = await fetched(5, { bytes }, { partition: 1, bytes: Buffer.alloc(1_000_000) });
    const [message] = (batch?.messages ?? []) as unknown as BatchMessage[];
    expect(message?.batch.bytes.equals(bytes)).toBe(true);
    expect(message?.batch.bytes.buffer.byteLength).toBe(bytes.length);
  });

  test('whose frame cannot be read leaves the batch before it and other partitions readable', async () => {
    const broken = batchBytes(data(6, 1), data(7, 1));
    broken.writeInt32BE(-20, 8);
    const readable = { partition: 1, bytes: batchBytes(data(9, 1)) };
    const batches = await fetched(5, readable, { bytes: Buffer.concat([batchBytes(data(5, 1)), broken]) });
    expect(batches.map(({ messages }) => messages.map(({ offset }) => offset))).toEqual([['9'], ['5', '6']]);
    // As the first batch of a fetch, its offset is not below the requested one.
    const [, undecodable] = await fetched(8, readable, { bytes: broken });
    expect(undecodable?.messages.map(({ offset }) => offset)).toEqual(['8']);
  });

  test('whose frame cannot be read does not hide the leader epoch of the batch before it', async () => {
    const bytes = Buffer.concat([batchBytes({ ...data(5, 1), leaderEpoch: 3 }), Buffer.alloc(70)]);
    const [batch] = await fetched(5, { bytes });
    expect(batch && readPartitionFetch(batch)).toMatchObject({ leaderEpoch: 3, nextOffset: 7 });
  });

  test('after messages of a format before Kafka 0.11 is read', async () => {
    const bytes = Buffer.concat([oldMessageBytes(3, 'a'), oldMessageBytes(4, 'b'), batchBytes(data(5, 1))]);
    expect(await delivered(3, { bytes })).toEqual({ offsets: [3, 4, 5], lastOffset: 5 });
  });
});

/** The bytes without their end, like a response that reaches its size limit. */
function truncated(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.length - 1);
}

describe('a fetch response', () => {
  test('creates no batch for a partition without records, unless it names a replica to read from', async () => {
    const none = Buffer.alloc(0);
    const partitions = [
      { partition: 0, bytes: none },
      { partition: 1, bytes: batchBytes(data(5, 1)) },
      { partition: 2, bytes: none, preferredReadReplica: 2 },
    ];
    const batches = await fetched(5, ...partitions);
    expect(batches.map(({ partition }) => partition)).toEqual([1, 2]);
    expect(batches[1]?.isEmpty()).toBe(true);
  });

  const damaged = batchBytes(marker(5, 1, 'abort'));
  // The length of the record, which its fields exceed.
  damaged.writeInt8(2, 61);
  const failing = (errorCode: number) => ({ errorCode, highWatermark: -1, bytes: Buffer.alloc(0) });

  test.each<[string, ExamplePartition, string]>([
    ['the error -1', failing(-1), 'UNKNOWN'],
    ['the error 1', failing(1), 'OFFSET_OUT_OF_RANGE'],
    ['the error 2', failing(2), 'CORRUPT_MESSAGE'],
    ['the error 56', failing(56), 'KAFKA_STORAGE_ERROR'],
    ['a control batch that cannot be read', { bytes: damaged }, 'CORRUPT_MESSAGE'],
    ['the error 3', failing(3), 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['the error 5', failing(5), 'LEADER_NOT_AVAILABLE'],
    ['the error 6', failing(6), 'NOT_LEADER_FOR_PARTITION'],
    ['the error 74', failing(74), 'FENCED_LEADER_EPOCH'],
    ['the error 75', failing(75), 'UNKNOWN_LEADER_EPOCH'],
    ['the error 78', failing(78), 'OFFSET_NOT_AVAILABLE'],
    ['an error that kafkajs does not know', failing(120), 'Unknown error code 120'],
  ])('in which a partition has %s delivers that, and the other partitions', async (_, partition, error) => {
    const otherPartition = { partition: 1, bytes: batchBytes(data(5, 1)) };
    const [read, broken] = await fetched(5, otherPartition, { ...partition, partition: 0 });
    expect(broken && readPartitionFetch(broken)).toMatchObject({ error, batches: [], nextOffset: 5 });
    expect(read?.messages.map(({ offset }) => offset)).toEqual(['5']);
  });

  test('that has only an error delivers it for each requested partition', async () => {
    const partitions = [0, 1].map((partition) => ({ partition, fetchOffset: '5' }));
    const { response } = parts.fetch.protocol({ version: 11 })({ topics: [{ topic: 't', partitions }] });
    const unknownServerError = -1;
    const { responses } = await response.parse(await response.decode(emptyResponseBytes(unknownServerError)));
    const batches = responses.flatMap((read) => read.partitions.map((of) => new KafkajsBatch('t', '5', of)));
    expect(batches.map(readPartitionFetch)).toEqual([
      expect.objectContaining({ error: 'UNKNOWN', batches: [], nextOffset: 5 }),
      expect.objectContaining({ error: 'UNKNOWN', batches: [], nextOffset: 5 }),
    ]);
  });

  test('for a partition that was not requested is an error', async () => {
    const { response } = parts.fetch.protocol({ version: 11 })({ topics: [] });
    const bytes = responseBytes({ partition: 3, bytes: batchBytes(data(5, 1)) });
    await expect(response.decode(bytes)).rejects.toThrow(
      'a broker answers a fetch of t/3, which was not requested',
    );
  });

  test('that refuses a topic is an error, which names the topic', async () => {
    const other = { partition: 1, bytes: batchBytes(data(5, 1)) };
    await expect(fetched(5, { ...failing(29), partition: 0 }, other)).rejects.toMatchObject({
      type: 'TOPIC_AUTHORIZATION_FAILED',
      topics: ['t'],
    });
  });

  test('contains the throttle time if the client has to wait', async () => {
    const { response } = parts.fetch.protocol({ version: 11 })({ topics: [] });
    expect((await response.decode(responseBytes())).clientSideThrottleTime).toBe(7);
  });
});

describe('kafkajs', () => {
  test('is rejected in another version', () => {
    const otherVersion = { ...installedKafkajs(), version: '2.2.5', fetch: { ...parts.fetch } };
    expect(() => patchKafkajs(otherVersion)).toThrow(/its version is 2\.2\.5, not 2\.2\.4/);
  });

  test('is patched once for any number of clients', () => {
    const { protocol } = parts.fetch;
    patchKafkajs();
    expect(parts.fetch.protocol).toBe(protocol);
  });
});
