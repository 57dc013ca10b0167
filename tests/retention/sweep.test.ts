import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import type { SweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { sweepApplied as sweepUpToWatermark } from '../../services/projector/retention/sweeper.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { deletionOf } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { day, eventsOf, useReadModel } from './read-model.ts';

const purged = (conversations: number, messages: number) => ({ conversations, messages });

describe('conversation data that expires by the retention of its channel', () => {
  const model = useReadModel();

  const idsAt = async (name: string, now: Date) => {
    const { conversation, messages, embedded } = await model.answersAt(name, now);
    return { conversation: conversation?.id ?? null, messages: messages.map(({ id }) => id), embedded };
  };
  const nothing = { conversation: null, messages: [], embedded: [] };
  const all = (name: string, ...days: string[]) => ({
    conversation: `conv_${name}`,
    messages: days.map((onDay) => `msg_${name}_${onDay}`),
    embedded: [`conv_${name}`],
  });

  test('is swept after its last message has expired', async () => {
    // given a conversation of day 0 with messages of days 0 and 20
    const { channel, ticket, conversation, message } = eventsOf('a');
    await model.apply([channel(), ticket, conversation(0), message(0), message(20)]);
    // then a millisecond before the conversation expires, the API serves everything, and a sweep removes nothing
    expect(await model.sweepAsOf(day(30, -1))).toEqual(purged(0, 0));
    expect(await idsAt('a', day(30, -1))).toEqual(all('a', '000', '020'));
    // then at the expiry of the conversation, the API serves nothing, although no sweep has run yet
    expect(await idsAt('a', day(30))).toEqual(nothing);
    // then sweeps delete expired messages, and the conversation after its last message
    expect(await model.sweepAsOf(day(30))).toEqual(purged(0, 1));
    expect(await idsAt('a', day(30))).toEqual(nothing);
    expect(await model.sweepAsOf(day(50, -1))).toEqual(purged(0, 0));
    expect(await model.allDocuments()).toMatch(/title of a.*content of a|content of a.*title of a/);
    expect(await model.sweepAsOf(day(50))).toEqual(purged(1, 1));
    // then only envelopes remain, which the TTL index removes
    expect(await model.allDocuments()).not.toMatch(/(title|content) of a/);
    const envelope = await collectionOf(model.database, 'conversation').findOne({ _id: 'conv_a' });
    expect(envelope).toEqual({
      _id: 'conv_a',
      orgId: 'org_1',
      version: 1,
      expiresAt: day(80),
      revision: expect.any(Number) as number,
      position: { partition: 0, offset: 1, timestampMs: 1 },
    });
    expect(await model.sweepAsOf(day(50))).toEqual(purged(0, 0));
  });

  test('is kept if the retention of its channel is raised during the sweep', async () => {
    const { channel, ticket, conversation, message } = eventsOf('raised');
    await model.apply([channel(), ticket, conversation(0), message(0)]);
    const deps = model.sweepDeps(day(100));
    const readChannels: SweepStore['readChannels'] = async (after) => {
      const channels = await deps.sweepStore.readChannels(after);
      await model.apply([channel(365, 2)]);
      return channels;
    };
    const sweepStore = { ...deps.sweepStore, readChannels };
    expect(await sweep({ ...deps, sweepStore })).toEqual(purged(0, 0));
    expect(await idsAt('raised', day(100))).toEqual(all('raised', '000'));
  });

  test('is swept message by message while its conversation has not expired', async () => {
    const { channel, ticket, conversation, message } = eventsOf('b');
    await model.apply([channel(), ticket, conversation(25), message(0), message(1), message(25)]);
    expect(await idsAt('b', day(30))).toEqual(all('b', '001', '025'));
    expect(await model.sweepAsOf(day(30))).toEqual(purged(0, 1));
    expect(await idsAt('b', day(30))).toEqual(all('b', '001', '025'));
    expect(await model.sweepAsOf(day(31))).toEqual(purged(0, 1));
    expect(await idsAt('b', day(31))).toEqual(all('b', '025'));
  });

  test('expires although its channel was deleted', async () => {
    // given a channel that is deleted, and deleted again by a Kafka tombstone
    const { channel, ticket, conversation, message } = eventsOf('deleted');
    await model.apply([channel(), ticket, conversation(0), message(0), deletionOf(channel(), 2)]);
    await model.apply([deletionOf(channel(), 3), { ...deletionOf(channel(), 4), op: 'tombstone' }]);
    expect(await model.sweepAsOf(day(30, -1))).toEqual(purged(0, 0));
    expect(await model.allDocuments()).toMatch(
      /title of deleted.*content of deleted|content.*title of deleted/,
    );
    expect(await model.sweepAsOf(day(30))).toEqual(purged(1, 1));
    expect(await model.allDocuments()).not.toMatch(/(title|content) of deleted/);
    // when a conversation comes after every other tombstone has expired
    await model.apply([conversation(40, 2), message(40)], day(100));
    expect(await model.sweepAsOf(day(70, -1), { now: day(100) })).toEqual(purged(0, 0));
    expect(await model.sweepAsOf(day(70), { now: day(100) })).toEqual(purged(1, 1));
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
    // then a channel that comes back decides its own retention
    await model.apply([channel(0, 5), conversation(41, 3)], day(100));
    expect(await model.sweepAsOf(day(36_500))).toEqual(purged(0, 0));
    expect(await channels.findOne({ _id: 'chan_deleted' })).not.toHaveProperty('dataRetentionDays');
  });

  test('is kept until its channel has a retention period that has passed', async () => {
    const { channel, ticket, conversation, message } = eventsOf('f');
    await model.apply([channel(), ticket, conversation(0), message(0), channel(0, 2)]);
    expect(await model.sweepAsOf(day(36_500))).toEqual(purged(0, 0));
    expect(await idsAt('f', day(36_500))).toEqual(all('f', '000'));
    await model.apply([channel(4_000_000_000, 3)]);
    expect(await model.sweepAsOf(day(36_500))).toEqual(purged(0, 0));
    expect(await idsAt('f', day(36_500))).toEqual(all('f', '000'));
    await model.apply([channel(10, 4)]);
    expect(await idsAt('f', day(10))).toEqual(nothing);
    expect(await model.sweepAsOf(day(10))).toEqual(purged(1, 1));
  });

  const daysAgo = (number: number) => new Date(Date.now() - number * dayMs).toISOString();
  const sweepApplied = () => sweepUpToWatermark({ ...model.sweepDeps(new Date()), ...model, generation: 1 });

  test('is kept until the watermark reaches its expiry', async () => {
    // Before that, an update that no worker has applied yet may extend the period.
    const { channel, ticket } = eventsOf('g');
    const updatedAt = daysAgo(60);
    const state = { ticketId: 'ti_g', channelId: 'chan_g', createdAt: updatedAt, updatedAt };
    await model.apply([channel(), ticket, created('conversation', 'conv_g', state)]);
    const expiryMs = Date.parse(updatedAt) + 30 * dayMs;
    expect(await sweepApplied()).toEqual(purged(0, 0));
    await model.setWatermark(new Date(expiryMs - 1));
    expect(await sweepApplied()).toEqual(purged(0, 0));
    await model.setWatermark(new Date(expiryMs));
    expect(await sweepApplied()).toEqual(purged(1, 0));
    // then its tombstone document expires by the store's clock
    const conversations = collectionOf<StoredDocument>(model.database, 'conversation');
    const envelope = await conversations.findOne({ _id: 'conv_g' });
    const remainingMs = Number(envelope?.expiresAt) - Date.now();
    expect(remainingMs).toBeGreaterThan(29 * dayMs);
    expect(remainingMs).toBeLessThan(31 * dayMs);
  });

  test('is kept although the watermark is a year ahead', async () => {
    // A projector whose clock is ahead may set the watermark so.
    const { channel, ticket } = eventsOf('i');
    const createdAt = daysAgo(29);
    const state = { ticketId: 'ti_i', channelId: 'chan_i', createdAt, updatedAt: createdAt };
    const conversation = created('conversation', 'conv_i', state);
    const message = created('message', 'msg_i', { createdAt, conversationId: 'conv_i' });
    await model.apply([channel(), ticket, conversation, message]);
    await model.setWatermark(new Date(Date.now() + 365 * dayMs));
    expect(await sweepApplied()).toEqual(purged(0, 0));
  });

  test('leaves its ticket with the next sweep after a crash before the refresh', async () => {
    const { channel, ticket, conversation } = eventsOf('crash');
    await model.apply([channel(), ticket, conversation(0)]);
    const deps = model.sweepDeps(day(30));
    // given a sweep that ends before it refreshes the ticket
    const readCurrent: typeof deps.store.readCurrent = async (kind, ids) => {
      if (kind === 'ticket') throw new Error('ended');
      return deps.store.readCurrent(kind, ids);
    };
    await expect(sweep({ ...deps, store: { ...deps.store, readCurrent } })).rejects.toThrow('ended');
    const tickets = collectionOf<StoredDocument>(model.database, 'ticket');
    const findTicket = () => tickets.findOne({ _id: 'ti_crash' });
    expect(await model.allDocuments()).not.toContain('title of crash');
    expect(await findTicket()).toMatchObject({ joined: { conversations: [{ id: 'conv_crash' }] } });
    // when the next sweep purges nothing
    expect(await model.sweepAsOf(day(30))).toEqual(purged(0, 0));
    expect(await findTicket()).toMatchObject({ joined: { conversations: [] } });
  });
});
