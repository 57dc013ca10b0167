import { randomBytes } from 'node:crypto';
import { toBuffer } from '../../services/projector/dead-letters/dead-letter.ts';
import {
  storeDeadLetters,
  type StoreDeadLettersDeps,
} from '../../services/projector/dead-letters/store-dead-letters.ts';
import { recordId } from '../../shared/control/ledger.ts';
import {
  closeDeadLetters,
  ensureDeadLetterIndexes,
  ledgerOf,
  purgeDeadLetters,
  readLedgerRecords,
} from '../../shared/control/ledger-store.ts';
import { readStoredAt, recordBytesOf, removeUnchangedBytes } from '../../shared/control/record-bytes.ts';
import type { Rejection } from '../../shared/control/rejections.ts';
import type { KafkaRecord } from '../../shared/kafka/record-format.ts';
import { controlDatabase, createMongo } from '../../shared/store/connection.ts';
import { openDatabases } from '../support/databases.ts';
import { ampleShares, fullShares, type StandingLetter, standingLetters } from '../support/dead-letters.ts';
import { eventually } from '../support/eventually.ts';
import { rawHeaders } from '../support/example-records.ts';
import { mebibyte } from '../support/memory.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useOpened } from '../support/use-opened.ts';

const topic = 'support.tags';

describe('storing dead letters', () => {
  const opened = useOpened(openDatabases, { each: true });
  /** The control database behind a proxy that can hold commands. */
  const proxied = useOpened(
    async () => {
      const proxy = createStoreProxy(process.env.MONGODB_URL ?? '');
      const client = createMongo(proxiedUrl(await proxy.listen()), 'test');
      const close = async () => {
        await client.close();
        await proxy.cut();
      };
      return { ...proxy, control: controlDatabase(client, opened.name), close };
    },
    { each: true },
  );
  beforeEach(() => ensureDeadLetterIndexes(opened.control));

  const record = (offset: number, value = Buffer.from('{')): KafkaRecord => ({
    key: Buffer.from(`tag_${offset}`),
    value,
    headers: rawHeaders({}),
    position: { partition: 0, offset, timestampMs: 1_700_000_000_000 },
  });
  const records = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, index) => record(first + index));
  type Options = Partial<StoreDeadLettersDeps> & Partial<Rejection> & { at?: string };
  const store = (rejected: KafkaRecord[], options: Options = {}) => {
    const { reason = 'not_json', detail = reason, at = '2026-01-01T00:00:00Z', ...changes } = options;
    const deps: StoreDeadLettersDeps = {
      control: opened.control,
      prefix: 'support.',
      generation: 1,
      now: () => new Date(at),
      shares: ampleShares,
      ...changes,
    };
    const rejection = { reason, detail };
    const rejectedRecords = rejected.map((rejectedRecord) => ({ record: rejectedRecord, rejection }));
    return storeDeadLetters(deps, topic, rejectedRecords);
  };
  const standing = () => standingLetters(opened.control);
  const standingAt = async (offset: number) =>
    (await standing()).filter((letter) => letter.offset === offset);
  const textOf = (value: StandingLetter['value']) => toBuffer(value ?? null)?.toString();
  const countBytes = () => recordBytesOf(opened.control).countDocuments();
  const idOf = ({ position }: KafkaRecord) => recordId({ topic, ...position });
  const purge = { at: new Date('2026-02-01T00:00:00Z'), by: 'ann' };

  test('a record that arrives again is stored once with its latest reason', async () => {
    await store(records(1, 2));
    await store([record(1), record(3)], { reason: 'bad_data', at: '2026-01-02T00:00:00Z', generation: 2 });
    expect(await standingAt(1)).toMatchObject([
      {
        count: 2,
        reason: 'bad_data',
        generations: [1, 2],
        firstAt: new Date('2026-01-01T00:00:00Z'),
        lastAt: new Date('2026-01-02T00:00:00Z'),
      },
    ]);
    expect(await standingAt(2)).toMatchObject([{ count: 1, reason: 'not_json', generations: [1] }]);
    expect(await countBytes()).toBe(3);
  });

  test('a purged record stays purged in every generation', async () => {
    const purged = record(50);
    const kept = record(51);
    await store([purged]);
    expect(await purgeDeadLetters(opened.control, [idOf(purged)], purge)).toBe(1);
    expect(await purgeDeadLetters(opened.control, [idOf(purged)], purge)).toBe(0);
    const stored = await store([purged, kept], { generation: 2 });
    expect(stored.notPurged.map((letter) => letter.record)).toEqual([kept]);
    expect((await standing()).map(({ offset }) => offset)).toEqual([51]);
    expect(await countBytes()).toBe(1);
    const ledgerRecords = await readLedgerRecords(opened.control, [idOf(purged)]);
    expect([...ledgerRecords.values()]).toMatchObject([{ offset: 50, reason: 'not_json', purged: purge }]);
  });

  test('a record of a recreated topic is stored beside the former record at its offset', async () => {
    const earlier = record(40, Buffer.from('{1'));
    const laterPosition = { ...earlier.position, timestampMs: 1_800_000_000_000 };
    const later = { ...record(40, Buffer.from('{2')), position: laterPosition };
    await store([earlier, later]);
    await store([later]);
    const letters = await standingAt(40);
    expect(letters.map(({ count }) => count)).toEqual([1, 2]);
    expect(letters.map(({ value }) => textOf(value))).toEqual(['{1', '{2']);
    // A purge closes only its own record.
    await purgeDeadLetters(opened.control, [idOf(earlier)], purge);
    const stored = await store([earlier, later]);
    expect(stored.notPurged.map((letter) => letter.record)).toEqual([later]);
    await purgeDeadLetters(opened.control, [idOf(later)], purge);
    expect(await store([earlier, later])).toEqual({ notPurged: [], withBytes: [] });
  });

  test('a record that is appended again at a later offset is another dead letter', async () => {
    const first = record(7, Buffer.from('{same'));
    const repeated = record(8, Buffer.from('{same'));
    await store([first]);
    await purgeDeadLetters(opened.control, [idOf(first)], purge);
    await store([repeated]);
    expect((await standing()).map(({ offset }) => offset)).toEqual([8]);
  });

  test('a record above 8 MiB is stored without its bytes', async () => {
    const fitting = [0.6, 0.6, 0.9, 7.9].map((mebibytes) => randomBytes(Math.round(mebibytes * mebibyte)));
    // With its key and headers, this record takes more than 8 MiB.
    const tooLarge = randomBytes(8 * mebibyte);
    await store([...fitting, tooLarge].map((value, index) => record(20 + index, value)));
    const stored = await standing();
    const storedSizes = stored.map(({ value }) => toBuffer(value ?? null)?.length);
    expect(storedSizes).toEqual([...fitting.map(({ length }) => length), undefined]);
  });

  test('a record beyond the share of its topic is stored without its bytes', async () => {
    const shares = { left: async () => 5_000, add: jest.fn() };
    const rejected = [1_000, 3_000, 1_000, 1_000].map((size, offset) => record(offset, Buffer.alloc(size)));
    const stored = await store(rejected, { shares });
    const offsets = stored.withBytes.map((letter) => letter.record.position.offset);
    expect(offsets).toEqual([0, 2]);
    const storedBytes = 'tag_0'.length + 1_000;
    const overheadBytes = 1_024;
    expect(shares.add.mock.calls).toEqual([[topic, 2 * (storedBytes + overheadBytes)]]);
    expect(await standing()).toHaveLength(4);
  });

  test('workers that store the same records at the same time store each record once', async () => {
    const rejected = records(4_900, 5_100);
    const workers = Array.from({ length: 8 }, (_, index) =>
      store(rejected, { generation: index % 2 === 0 ? 1 : 2 }),
    );
    await Promise.all(workers);
    const letters = await standing();
    expect(letters.map(({ offset }) => offset)).toEqual(rejected.map(({ position }) => position.offset));
    for (const { generations } of letters) expect(generations).toEqual([1, 2]);
    expect(await countBytes()).toBe(rejected.length);
  });

  test('a span never reuses the revision of a write that was rolled back', async () => {
    const spans = ledgerOf(opened.control);
    await store([record(1)]);
    const [span] = await spans.find().toArray();
    if (!span) throw new Error('there is no span');
    const revisions: (number | undefined)[] = [span.revision];
    for (const offset of [2, 3]) {
      // A fail-over rolls the span back after a worker has read the lost write.
      await spans.replaceOne({ _id: span._id }, span);
      await store([record(offset)]);
      const changed = await spans.findOne({ _id: span._id });
      revisions.push(changed?.revision);
    }
    // The guard of that worker must not match the write of another worker, or a record would be lost.
    expect(new Set(revisions).size).toBe(revisions.length);
  });

  test('a worker does not restore the closed record of a span that is removed in the meantime', async () => {
    const closed = record(1);
    await store([closed]);
    // An operator closes the only record of the span after the worker has read the span.
    proxied.trouble.holding = 'second record';
    const storing = store([record(2)], { control: proxied.control, detail: 'second record' });
    await eventually(() => proxied.heldCount() > 0);
    await closeDeadLetters(opened.control, [idOf(closed)], 1);
    proxied.release();
    await storing;
    expect((await standing()).map(({ offset }) => offset)).toEqual([2]);
  });

  test('a purge between the writes of a record and of its bytes leaves no bytes', async () => {
    const purged = record(7);
    const left = async () => {
      await purgeDeadLetters(opened.control, [idOf(purged)], purge);
      return mebibyte;
    };
    const stored = await store([purged, record(8)], { shares: { left, add: () => undefined } });
    expect(stored.withBytes.map((letter) => letter.record.position.offset)).toEqual([8]);
    expect(await countBytes()).toBe(1);
  });

  test('the next delivery of a purged record removes bytes that a crashed worker has left', async () => {
    const purged = record(7);
    await store([purged]);
    const bytes = await recordBytesOf(opened.control).find().toArray();
    await purgeDeadLetters(opened.control, [idOf(purged)], purge);
    await recordBytesOf(opened.control).insertMany(bytes);
    await store([purged]);
    expect(await countBytes()).toBe(0);
  });

  test('a redrive keeps bytes that a build has stored again in the meantime', async () => {
    await store(records(7, 8));
    const ids = records(7, 8).map(idOf);
    // A build rejects one record after the redrive has closed it and before the redrive removes its bytes.
    const readAt = await readStoredAt(opened.control, ids);
    await store([record(7)], { generation: 2, at: '2026-01-02T00:00:00Z' });
    await removeUnchangedBytes(opened.control, ids, readAt);
    expect(await recordBytesOf(opened.control).find().toArray()).toMatchObject([{ offset: 7 }]);
    // Without a build, the bytes are removed with the record.
    await closeDeadLetters(opened.control, ids, 1);
    await closeDeadLetters(opened.control, ids, 2);
    expect(await standing()).toEqual([]);
    expect(await countBytes()).toBe(0);
  });

  test('a flood of 15,000 records is stored in three documents by three commands for each chunk', async () => {
    const chunkSize = 1_000;
    const storeChunk = (first: number, detail: string) =>
      store(records(first, first + chunkSize - 1), { shares: fullShares, detail });
    let commands = 0;
    opened.mongo.on('commandStarted', () => {
      commands += 1;
    });
    const chunks = Array.from({ length: 15 }, (_, index) => index * chunkSize);
    chunks.push(...chunks.slice(0, 5));
    for (const [index, first] of chunks.entries())
      await storeChunk(first, `the producer's own text ${index}`);
    expect(await standing()).toHaveLength(15_000);
    expect(commands).toBeLessThanOrEqual(3 * chunks.length);
    const spans = await opened.control.collection('dead_letters').find().toArray();
    expect(spans).toHaveLength(3);
    expect(await countBytes()).toBe(0);
  });
});
