import { decodeResponse } from './metadata.ts';

const int = (bytes: number, value = 0) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, Math.min(bytes, 6));
  return buffer;
};
const text = (value: string) => Buffer.concat([Buffer.from([value.length + 1]), Buffer.from(value)]);
const list = (...items: Buffer[]) => Buffer.concat([Buffer.from([items.length + 1]), ...items]);
const noTags = Buffer.from([0]);
/** A tagged field that a later broker may add: its number, its length, its bytes. */
const oneTag = Buffer.from([1, 7, 3, 1, 2, 3]);
const nodes = list(int(4, 1), int(4, 2));

const leaderNotAvailable = 5;

/** A Metadata response, version 11, by Kafka's protocol guide: two brokers, and topics with two partitions. */
function response(tags: Buffer, topics: { name: string; id: string; error?: number }[]): Buffer {
  const broker = (id: number) =>
    Buffer.concat([int(4, id), text('host'), int(4, 9092), Buffer.from([0]), tags]);
  const partition = (index: number, error: number) =>
    Buffer.concat([int(2, error), int(4, index), int(4, 1), int(4, 7), nodes, nodes, list(), tags]);
  const described = topics.map(({ name, id, error = 0 }) => {
    const head = [int(2, error), text(name), Buffer.from(id, 'hex'), int(1)];
    return Buffer.concat([...head, list(partition(0, 0), partition(1, leaderNotAvailable)), int(4), tags]);
  });
  return Buffer.concat([
    tags,
    int(4),
    list(broker(1), broker(2)),
    text('cluster'),
    int(4),
    list(...described),
    tags,
  ]);
}

describe('the metadata of topics', () => {
  const id = '0123456789abcdef0123456789abcdef';

  it.each([
    ['without', noTags],
    ['with', oneTag],
  ])('is read from a response %s unknown tagged fields, even if a partition has no leader', (_, tags) => {
    const payload = response(tags, [
      { name: 'a', id },
      { name: 'b', id: 'f'.repeat(32), error: 3 },
    ]);
    const partitions = [
      { partition: 0, leader: 1, leaderEpoch: 7 },
      { partition: 1, leader: -1, leaderEpoch: 7 },
    ];
    expect(decodeResponse(payload)).toEqual({
      brokers: [1, 2].map((nodeId) => ({ nodeId, host: 'host', port: 9092 })),
      topics: [
        { errorCode: 0, topic: 'a', topicId: id, partitions },
        { errorCode: 3, topic: 'b', topicId: 'f'.repeat(32), partitions },
      ],
    });
  });

  it('is rejected if the response ends too early', () => {
    const payload = response(noTags, [{ name: 'a', id }]);
    expect(() => decodeResponse(payload.subarray(0, payload.length - 8))).toThrow();
  });
});
