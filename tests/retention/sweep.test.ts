import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import type { SweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { sweepApplied as sweepUpToWatermark } from '../../services/projector/retention/sweeper.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { deletionOf } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { day, eventsOf, useReadModel } from './read-model.ts';

const sweptCounts = (conversations: number, messages: number) => ({ conversations, messages });

describe('conversation data that expires by the retention of its channel', () => {
  const model = useReadModel();

  const idsAt = async (name: string, now: Date) => {
    const { conversation, messages, ofTicket } = await model.answersAt(name, now);
    return { conversation: conversation?.id ?? null, messages: messages.map(({ id }) => id), ofTicket };
  };
  const nothing = { conversation: null, messages: [], ofTicket: [] };
  const all = (name: string, ...days: string[]) => ({
    conversation: `conv_${name}`,
    messages: days.map((of) => `msg_${name}_${of}`),
    ofTicket: [`conv_${name}`],
  });

  test('is not served from its expiry on, even before a sweep, and a sweep deletes its messages first', async () => {
    // given a conversation of day 0 with messages of days 0 and 20
    const { channel, ticket, conversation, message } = eventsOf('a');
    await model.apply([channel(), ticket, conversation(0), message(0), message(20)]);
    // then a millisecond before the conversation expires, the API serves everything, and a sweep removes nothing
    expect(await model.sweepAsOf(day(30, -1))).toEqual(sweptCounts(0, 0));
    expect(await idsAt('a', day(30, -1))).toEqual(all('a', '000', '020'));
    // and when the conversation expires, the API serves nothing, although no sweep has run yet
    expect(await idsAt('a', day(30))).toEqual(nothing);
    // when sweeps run, they delete expired messages, and the conversation after its last message
    expect(await model.sweepAsOf(day(30))).toEqual(sweptCounts(0, 1));
    expect(await idsAt('a', day(30))).toEqual(nothing);
    expect(await model.sweepAsOf(day(50, -1))).toEqual(sweptCounts(0, 0));
    expect(await model.everything()).toMatch(/title of a.*content of a|content of a.*title of a/);
    expect(await model.sweepAsOf(day(50))).toEqual(sweptCounts(1, 1));
    // then only envelopes remain, which the TTL index removes
    expect(await model.everything()).not.toMatch(/(title|content) of a/);
    const left = await collectionOf(model.database, 'conversation').findOne({ _id: 'conv_a' });
    expect(left).toEqual({
      _id: 'conv_a',
      orgId: 'org_1',
      version: 1,
      expiresAt: day(80),
      revision: expect.any(Number) as number,
      position: { partition: 0, offset: 1, timestampMs: 1 },
    });
    expect(await model.sweepAsOf(day(50))).toEqual(sweptCounts(0, 0));
  });

  test('is kept if the retention of its channel is raised during the sweep', async () => {
    const { channel, ticket, conversation, message } = eventsOf('raised');
    await model.apply([channel(), ticket, conversation(0), message(0)]);
    const deps = model.sweepDeps(day(100));
    const readChannels: SweepStore['readChannels'] = async (after) => {
      const found = await deps.sweepStore.readChannels(after);
      await model.apply([channel(365, 2)]);
      return found;
    };
    expect(await sweep({ ...deps, sweepStore: { ...deps.sweepStore, readChannels } })).toEqual(
      sweptCounts(0, 0),
    );
    expect(await idsAt('raised', day(100))).toEqual(all('raised', '000'));
  });

  test('a message of a conversation that has not expired is swept by its own age', async () => {
    const { channel, ticket, conversation, message } = eventsOf('b');
    await model.apply([channel(), ticket, conversation(25), message(0), message(1), message(25)]);
    expect(await idsAt('b', day(30))).toEqual(all('b', '001', '025'));
    expect(await model.sweepAsOf(day(30))).toEqual(sweptCounts(0, 1));
    expect(await idsAt('b', day(30))).toEqual(all('b', '001', '025'));
    expect(await model.sweepAsOf(day(31))).toEqual(sweptCounts(0, 1));
    expect(await idsAt('b', day(31))).toEqual(all('b', '025'));
  });

  test('expires also if its channel was deleted, before or after the conversation came', async () => {
    // given a channel that is deleted, and deleted again by a Kafka tombstone
    const { channel, ticket, conversation, message } = eventsOf('deleted');
    await model.apply([channel(), ticket, conversation(0), message(0), deletionOf(channel(), 2)]);
    await model.apply([deletionOf(channel(), 3), { ...deletionOf(channel(), 4), op: 'tombstone' }]);
    expect(await model.sweepAsOf(day(30, -1))).toEqual(sweptCounts(0, 0));
    expect(await model.everything()).toMatch(
      /title of deleted.*content of deleted|content.*title of deleted/,
    );
    expect(await model.sweepAsOf(day(30))).toEqual(sweptCounts(1, 1));
    expect(await model.everything()).not.toMatch(/(title|content) of deleted/);
    // when a conversation comes after every other tombstone has expired
    await model.apply([conversation(40, 2), message(40)], day(100));
    expect(await model.sweepAsOf(day(70, -1), { now: day(100) })).toEqual(sweptCounts(0, 0));
    expect(await model.sweepAsOf(day(70), { now: day(100) })).toEqual(sweptCounts(1, 1));
    // then the channel's tombstone has no expiry, and only the retention beside its envelope
    const channels = collectionOf<StoredDocument>(model.database, 'channel');
    expect(await channels.findOne({ _id: 'chan_deleted' })).toEqual({
      _id: 'chan_deleted',
      orgId: 'org_1',
      version: 3,
      revision: expect.any(Number) as number,
      position: expect.any(Object) as object,
      tombstonePosition: expect.any(Object) as object,
      deletedByEvent: true,
      deletedAt: day(0),
      dataRetentionDays: 30,
    });
    // and a channel that comes back decides its retention itself
    await model.apply([channel(0, 5), conversation(41, 3)], day(100));
    expect(await model.sweepAsOf(day(36_500))).toEqual(sweptCounts(0, 0));
    expect(await channels.findOne({ _id: 'chan_deleted' })).not.toHaveProperty('dataRetentionDays');
  });

  test('is kept while the channel keeps it, whenever the channel changes its retention', async () => {
    const { channel, ticket, conversation, message } = eventsOf('f');
    await model.apply([channel(), ticket, conversation(0), message(0), channel(0, 2)]);
    expect(await model.sweepAsOf(day(36_500))).toEqual(sweptCounts(0, 0));
    expect(await idsAt('f', day(36_500))).toEqual(all('f', '000'));
    await model.apply([channel(4_000_000_000, 3)]);
    expect(await model.sweepAsOf(day(36_500))).toEqual(sweptCounts(0, 0));
    expect(await idsAt('f', day(36_500))).toEqual(all('f', '000'));
    await model.apply([channel(10, 4)]);
    expect(await idsAt('f', day(10))).toEqual(nothing);
    expect(await model.sweepAsOf(day(10))).toEqual(sweptCounts(1, 1));
  });

  const daysAgo = (number: number) => new Date(Date.now() - number * dayMs).toISOString();
  const sweepApplied = () => sweepUpToWatermark({ ...model.sweepDeps(new Date()), ...model, generation: 1 });

  test('is kept until the watermark reaches its expiry, since an earlier update may extend it', async () => {
    const { channel, ticket } = eventsOf('g');
    const times = { ticketId: 'ti_g', channelId: 'chan_g', createdAt: daysAgo(60), updatedAt: daysAgo(60) };
    await model.apply([channel(), ticket, created('conversation', 'conv_g', times)]);
    expect(await sweepApplied()).toEqual(sweptCounts(0, 0));
    await model.setWatermark(new Date(Date.parse(times.updatedAt) + 30 * dayMs - 1));
    expect(await sweepApplied()).toEqual(sweptCounts(0, 0));
    await model.setWatermark(new Date(Date.parse(times.updatedAt) + 30 * dayMs));
    expect(await sweepApplied()).toEqual(sweptCounts(1, 0));
    // and its tombstone document expires by the store's clock
    const left = await collectionOf(model.database, 'conversation').findOne({ _id: 'conv_g' });
    const expiresMs = (left as { expiresAt?: Date } | null)?.expiresAt?.getTime() ?? 0;
    expect(Math.abs(expiresMs - Date.now() - 30 * dayMs)).toBeLessThan(dayMs);
  });

  test('is kept although the clock of a projector, and with it the watermark, is a year ahead', async () => {
    const { channel, ticket } = eventsOf('i');
    const recent = { createdAt: daysAgo(29), updatedAt: daysAgo(29) };
    await model.apply([
      ...[channel(), ticket],
      created('conversation', 'conv_i', { ...recent, ticketId: 'ti_i', channelId: 'chan_i' }),
      created('message', 'msg_i', { createdAt: daysAgo(29), conversationId: 'conv_i' }),
    ]);
    await model.setWatermark(new Date(Date.now() + 365 * dayMs));
    expect(await sweepApplied()).toEqual(sweptCounts(0, 0));
  });

  test('leaves its ticket at the next sweep, if a sweep ended between its purge and the refresh of the ticket', async () => {
    const { channel, ticket, conversation } = eventsOf('crash');
    await model.apply([channel(), ticket, conversation(0)]);
    const deps = model.sweepDeps(day(30));
    // given a sweep that ends before it refreshes the ticket
    const readCurrent: typeof deps.store.readCurrent = (kind, ids) =>
      kind === 'ticket' ? Promise.reject(new Error('ended')) : deps.store.readCurrent(kind, ids);
    await expect(sweep({ ...deps, store: { ...deps.store, readCurrent } })).rejects.toThrow('ended');
    const tickets = collectionOf<StoredDocument>(model.database, 'ticket');
    const embedded = async () => (await tickets.findOne({ _id: 'ti_crash' }))?.joined;
    expect({ everything: await model.everything(), embedded: await embedded() }).toEqual({
      everything: expect.not.stringContaining('title of crash') as unknown,
      embedded: expect.objectContaining({
        conversations: [expect.objectContaining({ id: 'conv_crash' })],
      }) as unknown,
    });
    expect(await model.sweepAsOf(day(30))).toEqual(sweptCounts(0, 0));
    expect(await embedded()).toMatchObject({ conversations: [] });
  });
});
