import type { RejectedRecord } from '../../services/projector/dead-letters/dead-letter.ts';
import type { Room } from '../../services/projector/dead-letters/room.ts';
import { alikeMax, storeDeadLetters } from '../../services/projector/dead-letters/store-dead-letters.ts';
import { deadLettersOf, ensureDeadLetterIndexes } from '../../shared/control/dead-letters.ts';
import type { Rejection } from '../../shared/control/rejections.ts';
import { changeTallies, readTallies } from '../../shared/control/tallies.ts';
import {
  closeOffsets,
  type OpenTally,
  openTally,
  purgeOffsets,
  tallyIdOf,
} from '../../shared/control/tally.ts';
import { openDatabases } from '../support/databases.ts';
import { rawHeaders } from '../support/example-records.ts';
import { useOpened } from '../support/use-opened.ts';

const topic = 'support.contacts';

describe('a flood of alike dead letters', () => {
  const opened = useOpened(openDatabases, { each: true });
  beforeEach(() => ensureDeadLetterIndexes(opened.control));

  const rejected = (first: number, last: number, given: Partial<Rejection> = {}): RejectedRecord[] =>
    Array.from({ length: last - first + 1 }, (_, index) => ({
      record: {
        key: Buffer.from(`con_${first + index}`),
        value: Buffer.from('{'),
        headers: rawHeaders({}),
        position: { partition: 0, offset: first + index, timestampMs: 1_700_000_000_000 },
      },
      rejection: { reason: 'not_json', detail: 'value: must be JSON', ...given },
    }));
  const store = (
    records: RejectedRecord[],
    { generation = 1, room = 'whole' }: { generation?: number; room?: Room } = {},
  ) =>
    storeDeadLetters(
      {
        control: opened.control,
        prefix: 'support.',
        generation,
        now: () => new Date(),
        room: { left: async () => room, add: () => undefined },
      },
      topic,
      records,
    );
  const letters = () => deadLettersOf(opened.control).countDocuments();
  const tallies = async () => (await readTallies(opened.control, {})).map(openTally);
  const counted = async () =>
    (await readTallies(opened.control, {})).flatMap(({ entries }) => entries.map(({ count }) => count));
  const change = (edit: (tally: OpenTally) => void) =>
    changeTallies(opened.control, [tallyIdOf(topic, 0, 0)], edit);

  test('is stored in a few documents, each record once, also after a redelivery', async () => {
    for (let first = 0; first < 24_000; first += 1_000) {
      const offset = first % 12_000;
      await store(rejected(offset, offset + 999));
    }
    expect(await letters()).toBe(alikeMax);
    expect(await readTallies(opened.control, {})).toMatchObject([
      { topic, partition: 0, from: 0, entries: [{ count: 9_500, first: 500, last: 9_999 }] },
      { topic, partition: 0, from: 10_000, entries: [{ count: 2_000, first: 10_000, last: 11_999 }] },
    ]);
  });

  test('takes few commands for a chunk of 1,000 records', async () => {
    await store(rejected(0, 999));
    let commands = 0;
    opened.mongo.on('commandStarted', () => (commands += 1));
    await store(rejected(1_000, 1_999));
    expect(commands).toBeLessThanOrEqual(9);
  });

  test('counts another reason, detail or partition by itself', async () => {
    await store(rejected(0, 600));
    await store(rejected(601, 700, { detail: 'another' }));
    expect(await letters()).toBe(600);
    expect(await counted()).toEqual([101]);
  });

  test('is counted once if two workers store it at once', async () => {
    await store(rejected(0, 499));
    const chunks = Array.from({ length: 8 }, () => rejected(500, 999));
    await Promise.all(chunks.map((chunk, index) => store(chunk, { generation: 1 + (index % 2) })));
    expect(await counted()).toEqual([500]);
    expect([...((await tallies())[0]?.entries[0]?.lacking.keys() ?? [])].toSorted()).toEqual([1, 2]);
  });

  test('has each record in one place, if two workers place it otherwise', async () => {
    // given that one worker finds room, and the other does not
    await Promise.all([store(rejected(0, 299)), store(rejected(0, 299), { generation: 2, room: 'counted' })]);
    const sum = (await counted()).reduce((all, count) => all + count, 0);
    expect((await letters()) + sum).toBe(300);
  });

  test('stores no purged record again, in any generation, unless its topic was created again', async () => {
    await store(rejected(0, 999));
    const purge = { at: new Date(), by: 'ann' };
    await change((tally) => purgeOffsets(tally, [500, 501], purge));
    expect(await counted()).toEqual([498]);
    expect(await store(rejected(500, 501), { generation: 2 })).toEqual({ stored: [], counted: [] });
    const [again] = rejected(500, 500);
    if (again) again.record.position.timestampMs += 1;
    expect(await store(again ? [again] : [])).toMatchObject({ counted: [{}] });
  });

  test('leaves no document once all of it is closed', async () => {
    await store(rejected(0, 999), { room: 'counted' });
    expect(await counted()).toEqual([1_000]);
    const offsets = rejected(0, 999).map(({ record }) => record.position.offset);
    await change((tally) => closeOffsets(tally, offsets, 1));
    expect(await readTallies(opened.control, {})).toEqual([]);
    // and a record that is rejected again is counted again
    await store(rejected(7, 7), { room: 'counted' });
    expect(await counted()).toEqual([1]);
  });

  test('of ever other details is counted in a bounded number of entries', async () => {
    for (let offset = 0; offset < 60; offset += 1)
      await store(rejected(offset, offset, { detail: `field ${offset}` }), { room: 'counted' });
    const found = await counted();
    expect(found).toHaveLength(21);
    expect(found.reduce((sum, count) => sum + count, 0)).toBe(60);
  });

  test('of large records keeps their heads alone, once the dead letters take their bound', async () => {
    const [large] = rejected(0, 0);
    if (large) large.record.value = Buffer.alloc(1024 * 1024, 'x');
    await store(large ? [large] : [], { room: 'head' });
    const [found] = await deadLettersOf(opened.control).find().toArray();
    expect(found?.value?.length()).toBe(1_024);
    expect(found).toMatchObject({ headers: [], truncated: { valueBytes: 1024 * 1024 } });
  });
});
