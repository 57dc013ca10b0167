import { randomBytes } from 'node:crypto';
import { buffer, deadLetterId } from '../../services/projector/dead-letters/dead-letter.ts';
import { storeDeadLetters } from '../../services/projector/dead-letters/store-dead-letters.ts';
import { deadLettersOf, purgeDeadLetters, purgeMarksOf } from '../../shared/control/dead-letters.ts';
import type { Rejection } from '../../shared/control/rejections.ts';
import type { KafkaRecord } from '../../shared/kafka/record-format.ts';
import { openDatabases } from '../support/databases.ts';
import { ampleRoom } from '../support/dead-letters.ts';
import { rawHeaders } from '../support/example-records.ts';
import { useOpened } from '../support/use-opened.ts';

const megabyte = 1024 * 1024;

describe('storing dead letters', () => {
  const opened = useOpened(openDatabases);
  const topic = 'support.tags';

  const record = (offset: number, value: Buffer): KafkaRecord => ({
    key: Buffer.from(`tag_${offset}`),
    value,
    headers: rawHeaders({}),
    position: { partition: 0, offset, timestampMs: 1_700_000_000_000 },
  });
  const store = (
    records: KafkaRecord[],
    {
      reason = 'not_json',
      at = '2026-01-01T00:00:00Z',
      generation = 1,
    }: { reason?: Rejection['reason']; at?: string; generation?: number } = {},
  ) =>
    storeDeadLetters(
      { control: opened.control, prefix: 'support.', generation, now: () => new Date(at), room: ampleRoom },
      topic,
      records.map((given) => ({ record: given, rejection: { reason, detail: reason } })),
    );
  const stored = (offset: number) => deadLettersOf(opened.control).findOne({ topic, offset });

  test('a record that arrives again is stored once, and counted with its latest reason', async () => {
    await store([record(1, Buffer.from('{')), record(2, Buffer.from('{'))]);
    const again = [record(1, Buffer.from('{')), record(3, Buffer.from('{'))];
    await store(again, { reason: 'bad_data', at: '2026-01-02T00:00:00Z' });
    expect(await stored(1)).toMatchObject({
      count: 2,
      reason: 'bad_data',
      detail: 'bad_data',
      firstAt: new Date('2026-01-01T00:00:00Z'),
      lastAt: new Date('2026-01-02T00:00:00Z'),
    });
    expect(await stored(2)).toMatchObject({ count: 1, reason: 'not_json' });
  });

  test('one that an operator has purged stays purged in every generation', async () => {
    const [purged, kept] = [record(50, Buffer.from('{')), record(51, Buffer.from('{'))];
    await store([purged]);
    const _id = deadLetterId(topic, purged.position);
    const purge = { at: new Date(), by: 'ann' };
    await purgeDeadLetters(opened.control, [_id], purge);
    const { stored: again } = await store([purged, kept], { generation: 2 });
    expect(again.map((one) => one.record)).toEqual([kept]);
    expect(await stored(50)).toBeNull();
    const mark = { _id, topic, ...purged.position, reason: 'not_json', ...purge };
    expect(await purgeMarksOf(opened.control).find().toArray()).toEqual([mark]);
  });

  test('a record of a topic that was created again is stored beside the one that was at its offset', async () => {
    const before = record(40, Buffer.from('{1'));
    const again = {
      ...record(40, Buffer.from('{2')),
      position: { ...before.position, timestampMs: 1_800_000_000_000 },
    };
    await store([before, again]);
    await store([again]);
    const found = await deadLettersOf(opened.control).find({ offset: 40 }).sort({ _id: 1 }).toArray();
    expect(found.map(({ value, count }) => [buffer(value)?.toString(), count])).toEqual([
      ['{1', 1],
      ['{2', 2],
    ]);
  });

  test('large records of one batch are stored', async () => {
    const sizes = [0.6 * megabyte, 0.6 * megabyte, 900 * 1024, 7.9 * megabyte];
    const values = sizes.map((size) => randomBytes(Math.round(size)));
    await store(values.map((value, index) => record(20 + index, value)));
    for (const [index, value] of values.entries()) {
      const deadLetter = await stored(20 + index);
      expect(buffer(deadLetter?.value ?? null)?.equals(value)).toBe(true);
      expect(deadLetter?.truncated).toBeNull();
    }
  });
});
