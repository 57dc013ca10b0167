import { decodeResponse } from './topic-ids.ts';

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

/** A Metadata response, version 11, by Kafka's protocol guide. */
function response(tags: Buffer, topics: { name: string; id: string; error?: number }[]): Buffer {
  const broker = Buffer.concat([int(4, 1), text('host'), int(4), Buffer.from([0]), tags]);
  const partition = Buffer.concat([int(2), int(4), int(4), int(4), nodes, nodes, list(), tags]);
  const described = topics.map(({ name, id, error = 0 }) => {
    const head = [int(2, error), text(name), Buffer.from(id, 'hex'), int(1)];
    return Buffer.concat([...head, list(partition, partition), int(4), tags]);
  });
  return Buffer.concat([
    tags,
    int(4),
    list(broker, broker),
    text('cluster'),
    int(4),
    list(...described),
    tags,
  ]);
}

describe('the ids of topics', () => {
  const [first, second] = ['0123456789abcdef0123456789abcdef', 'f'.repeat(32)];

  it.each([
    ['without', noTags],
    ['with', oneTag],
  ])('are read from a response %s unknown tagged fields', (_, tags) => {
    const payload = response(tags, [
      { name: 'a', id: first },
      { name: 'b', id: second },
    ]);
    expect([...decodeResponse(payload)]).toEqual([
      ['a', first],
      ['b', second],
    ]);
  });

  it('are omitted for a topic that has none or does not exist', () => {
    const payload = response(noTags, [
      { name: 'old', id: '0'.repeat(32) },
      { name: 'unknown', id: first, error: 3 },
    ]);
    expect(decodeResponse(payload).size).toBe(0);
  });

  it('are rejected if the response ends too early', () => {
    const payload = response(noTags, [{ name: 'a', id: first }]);
    expect(() => decodeResponse(payload.subarray(0, payload.length - 8))).toThrow('ends too early');
  });
});
