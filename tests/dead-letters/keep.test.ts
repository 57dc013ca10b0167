import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import {
  deadLettersOf,
  deadLetterTopic,
  letterPartsOf,
} from '../../services/projector/dead-letters/dead-letters.ts';
import { keepDeadLetters } from '../../services/projector/dead-letters/keep.ts';
import { buffer } from '../../services/projector/dead-letters/letter.ts';
import { readParts, removeLetters } from '../../services/projector/dead-letters/parts.ts';
import type { BusRecord, Rejection } from '../../services/projector/events/change.ts';
import { createKafka } from '../../services/projector/kafka.ts';
import { createRig, type Producer, type Rig } from '../support/projectors.ts';

const megabyte = 1024 * 1024;

describe('keeping dead letters, on a real bus and a real store', () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await createRig(1);
  }, 120_000);

  afterAll(() => rig.close(), 60_000);

  const topic = () => `${rig.config.TOPIC_PREFIX}tags`;
  const record = (offset: number, value: Buffer | null, headers: BusRecord['headers'] = {}): BusRecord => ({
    key: Buffer.from(`tag_${offset}`),
    value,
    headers,
    position: { partition: 0, offset, timestampMs: 1_700_000_000_000 },
  });
  const keep = (
    records: BusRecord[],
    reason: Rejection['reason'] = 'not_json',
    at = '2026-01-01T00:00:00Z',
    producer: Producer = rig.producer,
  ) =>
    keepDeadLetters(
      {
        control: rig.control,
        producer,
        prefix: rig.config.TOPIC_PREFIX,
        generation: 1,
        now: () => new Date(at),
      },
      topic(),
      records.map((given) => ({ record: given, rejection: { reason, detail: reason } })),
    );
  const stored = (offset: number) => deadLettersOf(rig.control).findOne({ _id: `${topic()}/0/${offset}` });

  /** What the dead-letter topic holds, by the offset of the original. */
  const copies = async () => {
    const kafka = createKafka(rig.config, pino({ level: 'silent' }));
    const name = deadLetterTopic(rig.config.TOPIC_PREFIX);
    const [end] = await rig.admin.fetchTopicOffsets(name);
    const found: { offset: string; value: Buffer | null; leftOut: string | undefined }[] = [];
    const consumer = kafka.consumer({ groupId: `${rig.name}-${randomBytes(4).toString('hex')}` });
    await consumer.connect();
    await consumer.subscribe({ topic: name, fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      consumer
        .run({
          eachMessage: async ({ message: { value, headers, offset } }) => {
            const text = (header: string) => headers?.[header]?.toString();
            found.push({
              offset: text('dead-letter-offset') ?? '',
              value,
              leftOut: text('dead-letter-left-out'),
            });
            if (Number(offset) + 1 >= Number(end?.high)) resolve();
          },
        })
        .catch(reject);
    });
    await consumer.disconnect();
    return found;
  };

  test('a record that comes again is kept once, on the bus too, and counted with its latest reason', async () => {
    await keep([record(1, Buffer.from('{')), record(2, Buffer.from('{'))]);
    await keep(
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
    expect((await copies()).map(({ offset }) => offset)).toEqual(['1', '2', '3']);
  }, 60_000);

  test('a letter that an operator removes while its record comes again is kept anew', async () => {
    await keep([record(5, Buffer.from('{'))]);
    // given a removal between the look for known letters and the write
    const producer: Producer = {
      ...rig.producer,
      send: async (sent) => {
        await deadLettersOf(rig.control).deleteOne({ _id: `${topic()}/0/5` });
        return rig.producer.send(sent);
      },
    };
    const again = () => keep([record(5, Buffer.from('{')), record(6, null)], 'bad_data', undefined, producer);
    // then the step fails, and when it is tried again the letter is there
    await expect(again()).rejects.toThrow('removed meanwhile');
    await again();
    expect(await stored(5)).toMatchObject({ count: 1, reason: 'bad_data' });
  }, 60_000);

  test('headers are kept byte by byte, repeated ones as often', async () => {
    const odd = Buffer.from([0xff, 0x00, 0xfe]);
    const none = { 'x-none': null } as unknown as BusRecord['headers'];
    await keep([record(10, null, { ce_id: [Buffer.from('a'), odd], 'x.$y': odd, ...none })]);
    const letter = await stored(10);
    expect(letter?.headers.map(({ name, value }) => [name, buffer(value)])).toEqual([
      ['ce_id', Buffer.from('a')],
      ['ce_id', odd],
      ['x.$y', odd],
      ['x-none', null],
    ]);
    expect((await copies()).at(-1)).toMatchObject({ offset: '10', leftOut: undefined });
  }, 60_000);

  test('large records of one step are kept whole, those that the topic refuses with a notice there', async () => {
    // given what the topic takes one at a time only, and what no topic's default limit allows
    const sizes = [0.6 * megabyte, 0.6 * megabyte, 900 * 1024, 15.9 * megabyte, 33 * megabyte];
    const values = sizes.map((size) => randomBytes(Math.round(size)));
    await keep(values.map((value, index) => record(20 + index, value)));
    // then the store has every byte
    for (const [index, value] of values.entries()) {
      const letter = await stored(20 + index);
      const whole = letter && (await readParts(rig.control, letter));
      expect(Buffer.compare(buffer(whole?.value ?? null) ?? Buffer.alloc(0), value)).toBe(0);
      expect(buffer(whole?.key ?? null)?.toString()).toBe(`tag_${20 + index}`);
    }
    // and the topic has a copy or says that it has none
    const found = (await copies()).filter(({ offset }) => Number(offset) >= 20);
    expect(found.map(({ offset, value, leftOut }) => [offset, value?.length, leftOut !== undefined])).toEqual(
      [
        ['20', values[0]?.length, false],
        ['21', values[1]?.length, false],
        ['22', values[2]?.length, false],
        ['23', undefined, true],
        ['24', undefined, true],
      ],
    );
    // and nothing of a letter stays when it is removed
    const letters = await deadLettersOf(rig.control).find().toArray();
    expect(await removeLetters(rig.control, letters)).toBe(letters.length);
    expect(await letterPartsOf(rig.control).countDocuments()).toBe(0);
  }, 120_000);
});
