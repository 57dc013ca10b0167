import { decodeResponse, failureOf, mergeTopics, type TopicMetadata } from './metadata.ts';

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

  test.each([
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
    expect(decodeResponse(payload)).toEqual([
      { errorCode: 0, topic: 'a', topicId: id, partitions },
      { errorCode: 3, topic: 'b', topicId: 'f'.repeat(32), partitions },
    ]);
  });

  test('is rejected if the response ends too early', () => {
    const payload = response(noTags, [{ name: 'a', id }]);
    expect(() => decodeResponse(payload.subarray(0, payload.length - 8))).toThrow();
  });
});

type Leader = { leader: number; leaderEpoch: number };

/** The metadata of a topic with a partition for each of these leaders. */
const topic = (leaders: Leader[], changes: Partial<TopicMetadata> = {}): TopicMetadata => ({
  errorCode: 0,
  topic: 't',
  topicId: 'a'.repeat(32),
  partitions: leaders.map((leader, partition) => ({ partition, ...leader })),
  ...changes,
});
const merge = (...topics: TopicMetadata[]) => {
  const { leaders, topicIds } = mergeTopics(topics);
  return { leaders: Object.fromEntries(leaders), topicIds: Object.fromEntries(topicIds) };
};

describe('the metadata of several brokers', () => {
  const topicIds = { t: 'a'.repeat(32) };

  test('has each partition that any broker knows, with its latest leader', () => {
    const old = topic([{ leader: 1, leaderEpoch: 4 }]);
    const recent = topic([
      { leader: 2, leaderEpoch: 5 },
      { leader: 3, leaderEpoch: 0 },
    ]);
    const leaders = { 't/0': 2, 't/1': 3 };
    expect(merge(old, recent)).toEqual({ leaders, topicIds });
    expect(merge(recent, old)).toEqual({ leaders, topicIds });
  });

  test.each([
    ['that a broker does not know yet', 3],
    ['at which a broker has failed', -1],
  ])('leaves out a topic %s', (_, errorCode) => {
    const unknown = topic([], { errorCode });
    const known = topic([{ leader: 1, leaderEpoch: 0 }]);
    expect(merge(unknown, known)).toEqual({ leaders: { 't/0': 1 }, topicIds });
  });

  test('has the failure of a broker, but rejects a missing permission', () => {
    for (const code of [0, leaderNotAvailable]) expect(failureOf(code, 'tags')).toBeNull();
    expect(failureOf(-1, 'tags')).toMatchObject({ type: 'UNKNOWN' });
    expect(() => failureOf(29, 'tags')).toThrow('Not authorized to access topics: tags');
  });

  test('has neither id nor leaders of a topic if the brokers disagree about its id', () => {
    const former = topic([
      { leader: 1, leaderEpoch: 4 },
      { leader: 1, leaderEpoch: 2 },
    ]);
    const recreated = topic([{ leader: 1, leaderEpoch: 0 }], { topicId: 'b'.repeat(32) });
    expect(merge(former, recreated)).toEqual({ leaders: { 't/0': -1, 't/1': -1 }, topicIds: {} });
  });

  test('has no id of a topic that was created before brokers assigned ids', () => {
    const old = topic([{ leader: 1, leaderEpoch: 4 }], { topicId: '0'.repeat(32) });
    expect(merge(old)).toEqual({ leaders: { 't/0': 1 }, topicIds: {} });
  });
});
