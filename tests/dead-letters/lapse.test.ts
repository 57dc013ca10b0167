import { applyRecords } from '../../services/projector/apply.ts';
import { deadLettersOf } from '../../services/projector/dead-letters/dead-letters.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { dayMs } from '../../shared/documents/retention.ts';
import { ensureIndexes } from '../../shared/runtime/indexes.ts';
import { created } from '../support/entities.ts';
import { encode, type Event } from '../support/events.ts';
import { createRig, type Rig } from '../support/projectors.ts';

const day = (number: number) => new Date(Date.UTC(2026, 0, 1) + number * dayMs);

describe('what was set aside about a conversation whose retention has passed', () => {
  let rig: Rig;
  let offset = 0;

  beforeAll(async () => {
    rig = await createRig(1);
    await ensureIndexes(rig.database);
  }, 120_000);

  afterAll(() => rig.close(), 60_000);

  const deps = () => ({
    store: mongoStore(rig.database),
    control: rig.control,
    producer: rig.producer,
    prefix: rig.config.TOPIC_PREFIX,
    generation: 1,
    tombstoneDays: 30,
    now: () => new Date(),
  });
  /** Applies the event as a record that was published on that day. */
  const apply = async (event: Event, published: number) => {
    const { key, value, headers } = encode(event, 'binary');
    const position = { partition: 0, offset: (offset += 1), timestampMs: day(published).getTime() };
    const record = {
      key: Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      headers,
      position,
    };
    await applyRecords(deps(), event.kind, [record], () => {});
  };
  const sweepOn = (number: number) =>
    sweep({ ...deps(), database: rig.database, asOf: day(number), checkpoint: () => {} });
  const letters = async () => {
    const found = await deadLettersOf(rig.control).find().sort({ offset: 1 }).toArray();
    return found.map(({ subjects }) => subjects[0]);
  };
  const bad = (event: Event, field: string): Event => ({ ...event, data: { ...event.data, [field]: 7 } });

  test('goes by its age, as its messages do, and at once where the removed version is past it', async () => {
    // given a conversation last updated on day 0, of which the bus tells on day 40 only
    const conversation = created('conversation', 'conv_1', { updatedAt: day(0).toISOString() }, 2);
    await apply(created('channel', 'chan_1', { dataRetentionDays: 30 }), 40);
    await apply(conversation, 40);
    expect(await sweepOn(45)).toBe(1);
    // when records about it are refused: a message that is younger than 30 days, a version that was removed,
    // and one that would bring the conversation back
    await apply(bad(created('message', 'msg_1'), 'type'), 35);
    await apply(bad(conversation, 'status'), 44);
    await apply(bad({ ...conversation, version: 3 }, 'status'), 44);
    // then those that may still count are kept, each until it is as old itself
    expect(await letters()).toEqual(['msg_1', 'conv_1']);
    await sweepOn(75);
    expect(await letters()).toEqual([]);
  }, 60_000);
});
