import { createHash, randomBytes } from 'node:crypto';
import type { Db } from 'mongodb';
import { deadLettersOf } from '../../services/projector/dead-letters/collection.ts';
import { storeDeadLetters } from '../../services/projector/dead-letters/store-dead-letters.ts';
import { buffer } from '../../services/projector/dead-letters/dead-letter.ts';
import type { KafkaRecord, Rejection } from '../../services/projector/events/change.ts';
import { createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';

const megabyte = 1024 * 1024;

describe('storing dead letters, with a real Kafka and a real MongoDB', () => {
  let testEnvironment: TestEnvironment;

  beforeAll(async () => {
    testEnvironment = await createTestEnvironment(1);
  }, 120_000);

  afterAll(() => testEnvironment.close(), 60_000);

  const topic = () => `${testEnvironment.config.TOPIC_PREFIX}tags`;
  const record = (
    offset: number,
    value: Buffer | null,
    headers: KafkaRecord['headers'] = {},
  ): KafkaRecord => ({
    key: Buffer.from(`tag_${offset}`),
    value,
    headers,
    position: { partition: 0, offset, timestampMs: 1_700_000_000_000 },
  });
  const store = (
    records: KafkaRecord[],
    reason: Rejection['reason'] = 'not_json',
    at = '2026-01-01T00:00:00Z',
    control: Db = testEnvironment.control,
  ) =>
    storeDeadLetters(
      {
        control,
        prefix: testEnvironment.config.TOPIC_PREFIX,
        generation: 1,
        now: () => new Date(at),
      },
      topic(),
      records.map((given) => ({ record: given, rejection: { reason, detail: reason } })),
    );
  const stored = (offset: number) =>
    deadLettersOf(testEnvironment.control).findOne({ _id: `${topic()}/0/${offset}` });

  test('a record that arrives again is stored once, and counted with its latest reason', async () => {
    await store([record(1, Buffer.from('{')), record(2, Buffer.from('{'))]);
    await store(
      [record(1, Buffer.from('{')), record(3, Buffer.from('{'))],
      'bad_data',
      '2026-01-02T00:00:00Z',
    );
    expect(await stored(1)).toMatchObject({
      count: 2,
      reason: 'bad_data',
      detail: 'bad_data',
      firstAt: new Date('2026-01-01T00:00:00Z'),
      lastAt: new Date('2026-01-02T00:00:00Z'),
    });
    expect(await stored(2)).toMatchObject({ count: 1, reason: 'not_json' });
  }, 60_000);

  test('a dead letter that an operator deletes while its record arrives again is stored again', async () => {
    await store([record(5, Buffer.from('{'))]);
    // given a deletion between the read of the known dead letters and the write
    const collection = deadLettersOf(testEnvironment.control);
    const bulkWrite: typeof collection.bulkWrite = async (operations, options) => {
      await collection.deleteOne({ _id: `${topic()}/0/5` });
      return collection.bulkWrite(operations, options);
    };
    const raced = Object.assign(Object.create(collection), { bulkWrite }) as typeof collection;
    const control = { collection: () => raced } as unknown as Db;
    const again = () => store([record(5, Buffer.from('{')), record(6, null)], 'bad_data', undefined, control);
    // then the batch fails, and after a retry the dead letter is stored
    await expect(again()).rejects.toThrow('removed while they were counted');
    await again();
    expect(await stored(5)).toMatchObject({ count: 1, reason: 'bad_data' });
  }, 60_000);

  test('headers are stored byte for byte, repeated ones too', async () => {
    const odd = Buffer.from([0xff, 0x00, 0xfe]);
    const none = { 'x-none': null } as unknown as KafkaRecord['headers'];
    await store([record(10, null, { ce_id: [Buffer.from('a'), odd], 'x.$y': odd, ...none })]);
    const deadLetter = await stored(10);
    expect(deadLetter?.headers.map(({ name, value }) => [name, buffer(value)])).toEqual([
      ['ce_id', Buffer.from('a')],
      ['ce_id', odd],
      ['x.$y', odd],
      ['x-none', null],
    ]);
  }, 60_000);

  test('large records of one batch are stored, above 8 MB only their head', async () => {
    // given records up to 8 MB, and one above a document's limit
    const sizes = [0.6 * megabyte, 0.6 * megabyte, 900 * 1024, 7.9 * megabyte, 33 * megabyte];
    const values = sizes.map((size) => randomBytes(Math.round(size)));
    await store(values.map((value, index) => record(20 + index, value)));
    // then MongoDB has every byte of those up to 8 MB
    for (const [index, value] of values.slice(0, 4).entries()) {
      const deadLetter = await stored(20 + index);
      expect(buffer(deadLetter?.value ?? null)?.equals(value)).toBe(true);
      expect(deadLetter?.truncated).toBeNull();
    }
    // and the head of the larger one, with its size and hash
    const [value = Buffer.alloc(0)] = values.slice(4);
    const deadLetter = await stored(24);
    expect(buffer(deadLetter?.value ?? null)?.equals(value.subarray(0, 64 * 1024))).toBe(true);
    expect(deadLetter).toMatchObject({
      bytes: value.length + 'tag_24'.length,
      truncated: {
        ...{ keyBytes: 6, headersBytes: 0, valueBytes: value.length },
        sha256: createHash('sha256').update(value).digest('hex'),
      },
    });
  }, 120_000);

  test('a record whose headers take more space in BSON than in Kafka is stored as its head', async () => {
    const many = Array.from({ length: 400_000 }, () => Buffer.alloc(0));
    await store([record(30, Buffer.from('{'), { a: many })]);
    expect(await stored(30)).toMatchObject({ headers: [], truncated: { headersBytes: 400_000 } });
  }, 60_000);
});
