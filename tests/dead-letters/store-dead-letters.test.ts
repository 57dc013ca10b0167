import { createHash, randomBytes } from 'node:crypto';
import { Binary, type Collection, type Db } from 'mongodb';
import { deadLettersOf, type DeadLetter } from '../../services/projector/dead-letters/collection.ts';
import { storeDeadLetters } from '../../services/projector/dead-letters/store-dead-letters.ts';
import { buffer } from '../../services/projector/dead-letters/dead-letter.ts';
import type { Rejection } from '../../services/projector/events/change.ts';
import type { KafkaRecord } from '../../services/projector/kafka/record-format.ts';
import { rawHeaders, type Headers } from '../support/example-records.ts';
import { useOpened } from '../support/use-opened.ts';
import { openDatabases } from '../support/databases.ts';

const megabyte = 1024 * 1024;

describe('storing dead letters, in a real MongoDB', () => {
  const opened = useOpened(openDatabases);
  const topic = 'support.tags';

  const record = (offset: number, value: Buffer | null, headers: Headers = {}): KafkaRecord => ({
    key: Buffer.from(`tag_${offset}`),
    value,
    headers: rawHeaders(headers),
    position: { partition: 0, offset, timestampMs: 1_700_000_000_000 },
  });
  const store = (
    records: KafkaRecord[],
    reason: Rejection['reason'] = 'not_json',
    at = '2026-01-01T00:00:00Z',
    database = opened.control,
  ) =>
    storeDeadLetters(
      { control: database, prefix: 'support.', generation: 1, now: () => new Date(at) },
      topic,
      records.map((given) => ({ record: given, rejection: { reason, detail: reason } })),
    );
  const stored = (offset: number) => deadLettersOf(opened.control).findOne({ _id: `${topic}/0/${offset}` });

  /** The control database, with something that happens between the read of the known dead letters and the write. */
  const whenWriting = (happens: (collection: Collection<DeadLetter>) => Promise<unknown>): Db => {
    const collection = deadLettersOf(opened.control);
    const bulkWrite: typeof collection.bulkWrite = async (operations, options) => {
      await happens(collection);
      return collection.bulkWrite(operations, options);
    };
    const interrupted = Object.assign(Object.create(collection) as typeof collection, { bulkWrite });
    return { collection: () => interrupted } as unknown as Db;
  };

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
  });

  test('a dead letter that an operator deletes while its record arrives again is stored again', async () => {
    await store([record(5, Buffer.from('{'))]);
    // given a deletion between the read of the known dead letters and the write
    const interrupted = whenWriting((collection) => collection.deleteOne({ _id: `${topic}/0/5` }));
    await store([record(5, Buffer.from('{')), record(6, null)], 'bad_data', undefined, interrupted);
    expect(buffer((await stored(5))?.value ?? null)?.toString()).toBe('{');
    expect(await stored(5)).toMatchObject({ count: 1, reason: 'bad_data' });
  });

  describe('another record at the place of a dead letter', () => {
    const places = async (offset: number) => {
      const found = await deadLettersOf(opened.control).find({ offset }).sort({ _id: 1 }).toArray();
      return found.map(({ _id, value, count }) => ({
        isSuffixed: _id !== `${topic}/0/${offset}`,
        value: buffer(value)?.toString(),
        count,
      }));
    };
    const [first, second] = [Buffer.from('{1'), Buffer.from('{2')];

    test('is stored beside it, and each is counted when it arrives again', async () => {
      for (const value of [first, second, second, first, second]) await store([record(40, value)]);
      const beside = { isSuffixed: true, value: '{2', count: 3 };
      expect(await places(40)).toEqual([{ isSuffixed: false, value: '{1', count: 2 }, beside]);
      // and also after the first was purged
      await deadLettersOf(opened.control).deleteOne({ _id: `${topic}/0/40` });
      await store([record(40, second)]);
      expect(await places(40)).toEqual([{ ...beside, count: 4 }]);
    });

    test('is one with another timestamp, key, value or header, or another end of a value above 8 MB', async () => {
      const large = Buffer.alloc(9 * megabyte, 'v');
      const given = { ...record(41, first, { a: 'x', b: ['y', 'z'] }), key: null };
      const others: KafkaRecord[] = [
        { ...given, position: { ...given.position, timestampMs: 1 } },
        { ...given, key: Buffer.from('tag_1') },
        { ...given, value: second },
        { ...given, headers: rawHeaders({ a: 'x', b: ['z', 'y'] }) },
        { ...given, value: large },
        { ...given, value: Buffer.concat([large.subarray(1), Buffer.from('w')]) },
      ];
      for (const other of [given, ...others, given, ...others]) await store([other]);
      expect((await places(41)).map(({ count }) => count)).toEqual([2, 2, 2, 2, 2, 2, 2]);
      // but not one whose headers come in another order
      await store([{ ...given, headers: rawHeaders({ b: ['y', 'z'], a: 'x' }) }]);
      expect((await places(41))[0]).toMatchObject({ isSuffixed: false, count: 3 });
    });

    test('is stored beside it even if another worker has stored the first one meanwhile', async () => {
      const before = { ...record(42, first), position: { partition: 0, offset: 42, timestampMs: 1 } };
      const interrupted = whenWriting(() => store([before]));
      await expect(store([record(42, second)], 'bad_data', undefined, interrupted)).rejects.toMatchObject({
        code: 11_000,
      });
      await store([record(42, second)]);
      expect((await places(42)).map(({ value, count }) => [value, count])).toEqual([
        ['{1', 1],
        ['{2', 1],
      ]);
    });

    test('is not the record that an earlier version stored there', async () => {
      const instants = { firstAt: new Date(0), lastAt: new Date(0) };
      await deadLettersOf(opened.control).insertOne({
        _id: `${topic}/0/43`,
        topic,
        partition: 0,
        offset: 43,
        key: new Binary(Buffer.from('tag_43')),
        value: new Binary(first),
        truncated: null,
        bytes: 8,
        headers: [],
        timestampMs: 1_700_000_000_000,
        orgId: null,
        versioned: null,
        subjects: ['tag_43'],
        reason: 'not_json',
        detail: 'JSON',
        ...instants,
        count: 1,
        generation: 1,
        generations: [1],
      });
      await store([record(43, first)]);
      expect(await places(43)).toMatchObject([{ isSuffixed: false, count: 2 }]);
    });
  });

  test('headers are stored byte for byte, repeated ones too', async () => {
    const odd = Buffer.from([0xff, 0x00, 0xfe]);
    await store([record(10, null, { ce_id: [Buffer.from('a'), odd], 'x.$y': odd, 'x-none': null })]);
    const deadLetter = await stored(10);
    expect(deadLetter?.headers.map(({ name, value }) => [name, buffer(value)])).toEqual([
      ['ce_id', Buffer.from('a')],
      ['ce_id', odd],
      ['x.$y', odd],
      ['x-none', null],
    ]);
  });

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
        keyBytes: 6,
        headersBytes: 0,
        valueBytes: value.length,
        sha256: createHash('sha256').update(value).digest('hex'),
      },
    });
  });

  test('a record whose headers take more space in BSON than in Kafka is stored as its head', async () => {
    const many = Array.from({ length: 400_000 }, () => Buffer.alloc(0));
    await store([record(30, Buffer.from('{'), { a: many })]);
    expect(await stored(30)).toMatchObject({ headers: [], truncated: { headersBytes: 400_000 } });
  });
});
