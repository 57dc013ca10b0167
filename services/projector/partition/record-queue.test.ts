import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { rawHeaders } from '../../../tests/support/example-records.ts';
import { type ExampleBatch, rawBatch } from '../../../tests/support/example-responses.ts';
import { decodeHeaders } from '../events/headers.ts';
import { createBudget } from './budget.ts';
import { chunkRecordsMax, createRecordQueue, type RecordQueue } from './record-queue.ts';

const gzip = { codec: 1, by: (records: Buffer) => gzipSync(records) };
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

/** A batch of records of 100 bytes and a few more. */
const batch = (from: number, to: number, changes: Partial<ExampleBatch> = {}) =>
  rawBatch({
    baseOffset: from,
    lastOffset: to - 1,
    records: range(from, to).map((offset) => ({ offset, value: Buffer.alloc(100, String(offset)) })),
    ...changes,
  });

/** A budget without a collection of garbage. */
const budgetOf = (bytesMax: number) => createBudget(bytesMax, () => undefined);

const queueOf = (chunkBytesMax = 1_000_000, budget = budgetOf(1_000_000)) =>
  createRecordQueue({ partition: 3, loadWithinBudget: budget, chunkBytesMax: () => chunkBytesMax });

const withByte = (bytes: Buffer, at: number, value: number) => Buffer.from(bytes).fill(value, at, at + 1);

/** Whether the promise is pending, and stays so for a moment. */
const isPending = (promise: Promise<unknown>) => Promise.race([promise.then(() => false), sleep(20, true)]);

/** The offsets of each chunk until the queue is empty, and the position after each. */
async function drain(queue: RecordQueue, position: number, onTaken: () => void = () => undefined) {
  const chunks: number[][] = [];
  const positions: number[] = [];
  let next = position;
  while (!queue.isEmpty()) {
    const { records, nextOffset } = await queue.take(next);
    chunks.push(records.map((record) => record.position.offset));
    positions.push(nextOffset);
    next = nextOffset;
    onTaken();
  }
  return { chunks, positions };
}

describe('a record', () => {
  test('is decoded as it was written, with any codec', async () => {
    const headers = rawHeaders({ ce_id: ['a', null, 'b'], x: Buffer.from([0xff]) });
    for (const changes of [{}, { compressed: gzip }]) {
      const queue = queueOf();
      queue.push([batch(5, 6, { ...changes, records: [{ offset: 5, key: 'k', headers }] })], 6);
      const { records } = await queue.take(5);
      expect(records).toMatchObject([{ key: Buffer.from('k'), value: Buffer.from('value') }]);
      expect(records[0]?.position).toEqual({ partition: 3, offset: 5, timestampMs: 0 });
      expect(decodeHeaders(records[0]?.headers ?? headers)).toEqual(decodeHeaders(headers));
    }
  });

  test('of a batch that is taken in parts keeps only its part in memory', async () => {
    const queue = queueOf(10_000);
    queue.push([batch(0, 2_000, { compressed: gzip })], 2_000);
    let next = 0;
    while (!queue.isEmpty()) {
      const { records, nextOffset } = await queue.take(next);
      // A small copy is a part of a pool of Node.
      for (const { value } of records) expect(value?.buffer.byteLength).toBeLessThan(100_000);
      next = nextOffset;
    }
  });

  test('before the position is not taken', async () => {
    const queue = queueOf();
    queue.push([batch(0, 10, { compressed: gzip })], 10);
    expect(await drain(queue, 8)).toEqual({ chunks: [[8, 9]], positions: [10] });
  });
});

describe('a chunk', () => {
  test('joins small batches, and ends after the control records that follow', async () => {
    const queue = queueOf();
    queue.push([batch(0, 1), batch(1, 3, { compressed: gzip }), batch(4, 5)], 9);
    expect(await drain(queue, 0)).toEqual({ chunks: [[0, 1, 2, 4]], positions: [9] });
  });

  test('has a bounded number of records', async () => {
    const queue = queueOf();
    queue.push([batch(0, 800), batch(800, 1_600), batch(1_600, 4_000, { compressed: gzip })], 4_000);
    const { chunks } = await drain(queue, 0);
    expect(chunks.map(({ length }) => length)).toEqual([800, 800, 1_000, 1_000, 400]);
    expect(chunks.flat()).toEqual(range(0, 4_000));
    expect(chunkRecordsMax).toBe(1_000);
  });

  test.each([
    ['plain', {}],
    ['compressed', { compressed: gzip }],
  ])('has bounded bytes, but at least one record (%s)', async (_, changes) => {
    const queue = queueOf(250);
    queue.push([batch(0, 5, changes)], 5);
    expect((await drain(queue, 0)).chunks).toEqual([[0, 1], [2, 3], [4]]);
    const tight = queueOf(1);
    tight.push([batch(0, 2, changes)], 2);
    expect((await drain(tight, 0)).chunks).toEqual([[0], [1]]);
  });

  test('continues in a batch whose memory was given back', async () => {
    const queue = queueOf(250);
    queue.push([batch(0, 5, { compressed: gzip })], 5);
    expect((await drain(queue, 0, queue.releaseBatch)).chunks).toEqual([[0, 1], [2, 3], [4]]);
  });
});

describe('a batch that cannot be decoded', () => {
  const corrupt = (from: number, to: number) =>
    batch(from, to, { compressed: { codec: 1, by: () => Buffer.from('no gzip') } });
  const first = async (queue: RecordQueue, position: number) => (await queue.take(position)).records[0];

  test('is taken as one record that stands for the batch', async () => {
    const queue = queueOf();
    const broken = corrupt(2, 5);
    queue.push([batch(0, 2), broken, batch(5, 6)], 6);
    expect((await queue.take(0)).records.map(({ position }) => position.offset)).toEqual([0, 1]);
    const { records, nextOffset } = await queue.take(2);
    expect(records).toMatchObject([{ key: null, position: { partition: 3, offset: 2 } }]);
    expect(records[0]?.undecodable).toMatch(/^the records of offsets 2 to 4 cannot be decoded: .*header/);
    expect(records[0]?.value?.equals(broken.bytes)).toBe(true);
    expect(nextOffset).toBe(5);
    expect((await drain(queue, 5)).chunks).toEqual([[5]]);
  });

  test('from a record on yields the records before it', async () => {
    const records = (bytes: Buffer) => gzipSync(bytes.subarray(0, 250));
    const queue = queueOf();
    queue.push([batch(0, 5, { compressed: { codec: 1, by: records } })], 5);
    expect((await queue.take(0)).records.map(({ position }) => position.offset)).toEqual([0, 1]);
    expect(await first(queue, 2)).toMatchObject({ position: { offset: 2 } });
    // A projector that starts at this offset gets the same record with the error.
    const again = queueOf();
    again.push([batch(0, 5, { compressed: { codec: 1, by: records } })], 5);
    expect(await first(again, 2)).toMatchObject({ position: { offset: 2 } });
  });

  test.each([
    [
      'an unknown codec',
      batch(0, 1, { compressed: { codec: 7, by: (bytes) => bytes } }),
      /its codec is unknown/,
    ],
    ['an unknown format', { ...batch(0, 1), bytes: withByte(batch(0, 1).bytes, 16, 3) }, /format is 3/],
    ['a negative count', { ...batch(0, 1), bytes: withByte(batch(0, 1).bytes, 57, 0xff) }, /negative/],
    ['a few bytes', { ...batch(0, 1), bytes: batch(0, 1).bytes.subarray(0, 17) }, /./],
  ])('because of %s has the cause in its record', async (_, broken, message) => {
    const queue = queueOf();
    queue.push([broken], 1);
    const record = await first(queue, 0);
    expect(record?.undecodable).toMatch(message);
    expect(queue.isEmpty()).toBe(true);
  });
});

test('a batch above its share counts as queued until the records that were taken last are released', async () => {
  const large = batch(0, 3);
  const queue = queueOf(300);
  queue.push([large, batch(3, 4)], 4);
  const both = queue.bytes();
  queue.release(await queue.take(0));
  expect(queue.bytes()).toBe(both);
  const last = await queue.take(2);
  expect(last.records.map(({ position }) => position.offset)).toEqual([2, 3]);
  expect(queue.bytes()).toBe(large.bytes.length);
  queue.release(last);
  expect({ bytes: queue.bytes(), isEmpty: queue.isEmpty() }).toEqual({ bytes: 0, isEmpty: true });
});

describe('the memory of decompressed batches', () => {
  const codes = ['ZSTD_error_memory_allocation', 'Z_MEM_ERROR', 'ERR_ZLIB_INITIALIZATION_FAILED'];
  test.each([
    new Error('Array buffer allocation failed'),
    ...codes.map((code) => Object.assign(new Error('refused'), { code })),
  ])('is awaited by a batch, but not by the records before it (%s)', async (error) => {
    let isLacking = true;
    const budget = budgetOf(1_000_000);
    const queue = queueOf(1_000_000, (load) => {
      if (isLacking) throw error;
      return budget(load);
    });
    queue.push([batch(0, 2), batch(2, 4, { compressed: gzip })], 4);
    expect(await queue.take(0)).toMatchObject({ records: [{}, {}], nextOffset: 2 });
    await expect(queue.take(2)).rejects.toThrow(error);
    isLacking = false;
    expect(await queue.take(2)).toMatchObject({ records: [{}, {}], nextOffset: 4 });
  });

  test('is shared by all partitions', async () => {
    const budget = budgetOf(1_000);
    const first = queueOf(250, budget);
    const second = queueOf(250, budget);
    const third = queueOf(250, budget);
    for (const queue of [first, second, third]) queue.push([batch(0, 9, { compressed: gzip })], 9);
    // The first partition takes the whole budget.
    await first.take(0);
    const takingSecond = second.take(0);
    const takingThird = third.take(0);
    expect([await isPending(takingSecond), await isPending(takingThird)]).toEqual([true, true]);
    // The others get the budget one after the other.
    first.releaseBatch();
    await takingSecond;
    expect(await isPending(takingThird)).toBe(true);
    second.close();
    await takingThird;
    third.close();
    expect((await drain(first, 2, first.releaseBatch)).chunks).toEqual([[2, 3], [4, 5], [6, 7], [8]]);
  });

  test.each([
    ['a whole batch', 1],
    ['a part of a batch', 2],
  ])('that %s takes beyond its share is released once the records are applied', async (_, records) => {
    const budget = budgetOf(150);
    const first = queueOf(50, budget);
    const second = queueOf(50, budget);
    for (const queue of [first, second]) queue.push([batch(0, records, { compressed: gzip })], records);
    const large = await first.take(0);
    // Its partition releases the batch while it applies the record, which is still in memory.
    first.releaseBatch(large);
    const takingSecond = second.take(0);
    expect(await isPending(takingSecond)).toBe(true);
    first.release(large);
    first.releaseBatch();
    await takingSecond;
    for (const queue of [first, second]) queue.close();
  });

  test('is not taken by a load while a value exceeds the budget', async () => {
    const budget = budgetOf(100);
    const load = jest.fn((bytes: number) => Promise.resolve({ bytes }));
    const large = await budget(() => load(500));
    const next = budget(() => load(10));
    await sleep(20);
    expect(load).toHaveBeenCalledTimes(1);
    large.release();
    await next;
  });

  test('has a bounded part of garbage, and none after a failed load', async () => {
    const collectGarbage = jest.fn();
    const budget = createBudget(100, collectGarbage);
    const use = async (bytes: number) => (await budget(() => Promise.resolve({ bytes }))).release();
    for (const bytes of [10, 10, 10, 60, 40, 40]) await use(bytes);
    expect(collectGarbage).toHaveBeenCalledTimes(0);
    await use(10);
    expect(collectGarbage).toHaveBeenCalledTimes(1);
    await use(500);
    await use(10);
    expect(collectGarbage).toHaveBeenCalledTimes(2);
    await expect(budget(() => Promise.reject(new Error('a bomb')))).rejects.toThrow('a bomb');
    await use(10);
    await use(10);
    expect(collectGarbage).toHaveBeenCalledTimes(3);
  });

  test('is released only once', async () => {
    const { release } = await budgetOf(100)(() => Promise.resolve({ bytes: 10 }));
    release();
    expect(release).toThrow('the memory of a value is released once');
  });

  test('is not taken twice by a record beyond the share of its partition', async () => {
    const queue = queueOf(50);
    queue.push([batch(0, 3, { compressed: gzip })], 3);
    const { records } = await queue.take(0);
    expect(records[0]?.value?.buffer).toBe((await queue.take(1)).records[0]?.value?.buffer);
  });

  test('is not needed for records that are not compressed', async () => {
    const budget = budgetOf(1_000);
    const first = queueOf(250, budget);
    const second = queueOf(250, budget);
    first.push([batch(0, 9, { compressed: gzip })], 9);
    second.push([batch(0, 9)], 9);
    await first.take(0);
    expect((await drain(second, 0)).chunks.flat()).toEqual(range(0, 9));
  });
});
