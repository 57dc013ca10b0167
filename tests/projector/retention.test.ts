import type { ConversationDocument } from '../../shared/documents/conversation.ts';
import type { TicketDocument } from '../../shared/documents/ticket.ts';
import { collectionOf } from '../../shared/runtime/mongo.ts';
import { findConversation } from '../../services/api/resources/conversations/query.ts';
import { presentTicketItem } from '../../services/api/resources/tickets/presenter.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { dayMs } from '../../shared/documents/retention.ts';
import { sweepApplied } from '../../services/projector/retention/sweeper.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { created } from '../support/entities.ts';
import { encode, type Event } from '../support/events.ts';
import { applied, createRig, runProjector, type Rig } from '../support/projectors.ts';

const start = new Date('2126-01-01T00:00:00Z');
const day = (number: number) => new Date(start.getTime() + number * dayMs);

/** All of it lies in the future, so that the projector's own sweeps find nothing; the tests sweep as of a day. */
describe('conversation data past the retention of its channel', () => {
  let rig: Rig;
  let projector: Awaited<ReturnType<typeof runProjector>>;

  beforeAll(async () => {
    rig = await createRig(2);
    projector = await runProjector(rig);
  }, 120_000);

  afterAll(async () => {
    await projector.stop();
    await rig.close();
  }, 120_000);

  const publish = async (events: Event[]) => {
    for (const event of events) {
      const topic = topicOf(event.kind, rig.config.TOPIC_PREFIX);
      await rig.producer.send({ topic, messages: [encode(event, 'structured')] });
    }
    await applied(rig, () => projector.fatal);
  };
  const sweepAsOf = (now: Date, checkpoint = () => {}) =>
    sweep({
      database: rig.database,
      control: rig.control,
      prefix: rig.config.TOPIC_PREFIX,
      store: mongoStore(rig.database),
      now: () => now,
      asOf: now,
      tombstoneDays: 30,
      checkpoint,
    });
  const isServed = async (name: string, now: Date) =>
    (await findConversation(rig.database, { orgId: 'org_1', id: `conv_${name}`, now })) !== null;
  const shownByTicket = async (name: string, now: Date) => {
    const ticket = await collectionOf<TicketDocument>(rig.database, 'ticket').findOne({ _id: `ti_${name}` });
    return ticket ? presentTicketItem(ticket, now).conversations.map(({ id }) => id) : null;
  };
  const messages = async (name: string) => {
    const living = { 'own.conversationId': `conv_${name}` };
    const found = await collectionOf(rig.database, 'message').find(living).sort({ _id: 1 }).toArray();
    return found.map(({ _id }) => _id);
  };
  const everything = async () => {
    const collections = await rig.database.collections();
    return JSON.stringify(await Promise.all(collections.map((collection) => collection.find().toArray())));
  };

  /** A channel that keeps 30 days, a conversation last updated on day 0, messages of days 0 and 20. */
  const given = (name: string): Record<'channel' | 'ticket' | 'conversation' | 'old' | 'young', Event> => {
    const of = (
      kind: 'channel' | 'ticket' | 'conversation' | 'message',
      id: string,
      fields: Record<string, unknown>,
    ) => created(kind, id, { ...fields }, 1);
    const thread = { conversationId: `conv_${name}`, content: `content of ${name}` };
    const updatedAt = day(0).toISOString();
    return {
      channel: of('channel', `chan_${name}`, { dataRetentionDays: 30 }),
      ticket: of('ticket', `ti_${name}`, {}),
      conversation: of('conversation', `conv_${name}`, {
        ticketId: `ti_${name}`,
        channelId: `chan_${name}`,
        title: `title of ${name}`,
        updatedAt,
      }),
      old: of('message', `msg_${name}_1`, { ...thread, createdAt: updatedAt }),
      young: of('message', `msg_${name}_2`, { ...thread, createdAt: day(20).toISOString() }),
    };
  };
  const again = (event: Event, version: number, data: Record<string, unknown>): Event => ({
    ...event,
    op: 'updated',
    version,
    data: { ...event.data, ...data },
  });

  test('is not served from that instant on, and is removed, with what came late, when it is as old', async () => {
    const { young, ...events } = given('a');
    await publish([...Object.values(events), young]);
    // given that the last instant of its retention has not passed
    expect(await sweepAsOf(new Date(day(30).getTime() - 1))).toBe(0);
    expect(await isServed('a', new Date(day(30).getTime() - 1))).toBe(true);
    expect(await shownByTicket('a', new Date(day(30).getTime() - 1))).toEqual(['conv_a']);
    // then it is served no more, though nothing has been removed yet
    expect([await isServed('a', day(30)), await shownByTicket('a', day(30))]).toEqual([false, []]);
    // and a sweep removes it and the messages that are as old
    expect(await sweepAsOf(day(30))).toBe(1);
    expect(await messages('a')).toEqual(['msg_a_2']);
    expect(await everything()).not.toContain('title of a');
    // and after as many days again the rest
    expect(await sweepAsOf(day(60))).toBe(0);
    expect(await everything()).not.toContain('content of a');
    expect(await shownByTicket('a', day(0))).toEqual([]);
  }, 60_000);

  test('does not come back with a replay of the log', async () => {
    const events = Object.values(given('b'));
    await publish(events);
    await sweepAsOf(day(60));
    await publish(events);
    expect(await isServed('b', day(0))).toBe(false);
    expect(await everything()).not.toMatch(/(title|content) of b/);
  }, 60_000);

  test('comes back with a later version, and with the message that was there before it', async () => {
    const { young, ...events } = given('c');
    await publish(Object.values(events));
    await sweepAsOf(day(30));
    // when a reply arrives before the update of the conversation that it made
    const reply = again(young, 1, { createdAt: day(31).toISOString() });
    await publish([reply]);
    await sweepAsOf(day(31));
    await publish([again(events.conversation, 2, { updatedAt: day(31).toISOString() })]);
    // then both are served
    expect([await isServed('c', day(31)), await messages('c')]).toEqual([true, ['msg_c_2']]);
    expect(await shownByTicket('c', day(31))).toEqual(['conv_c']);
  }, 60_000);

  test('is kept where the channel keeps it, also when that is decided later', async () => {
    const { channel, ...events } = given('d');
    await publish([channel, ...Object.values(events)]);
    await publish([again(channel, 2, { dataRetentionDays: 0 })]);
    await sweepAsOf(day(36_500));
    expect(await isServed('d', day(36_500))).toBe(true);
    expect(await shownByTicket('d', day(36_500))).toEqual(['conv_d']);
    await publish([again(channel, 3, { dataRetentionDays: 10 })]);
    expect([await isServed('d', day(10)), await shownByTicket('d', day(10))]).toEqual([false, []]);
  }, 60_000);

  test('is removed in full after a sweep that died half-way', async () => {
    await publish(Object.values(given('e')));
    // given a sweep that dies behind the removal of the conversation, before that of its messages
    let steps = 0;
    const dying = () => {
      steps += 1;
      if (steps === 2) throw new Error('killed');
    };
    await expect(sweepAsOf(day(60), dying)).rejects.toThrow('killed');
    const conversations = collectionOf<ConversationDocument>(rig.database, 'conversation');
    expect((await conversations.findOne({ _id: 'conv_e' }))?.lapsed).toEqual({ days: 30 });
    expect((await messages('e')).length).toBe(2);
    // when the next one runs
    await sweepAsOf(day(60));
    // then nothing is left
    expect(await everything()).not.toMatch(/(title|content) of e/);
    expect(await shownByTicket('e', day(0))).toEqual([]);
  }, 60_000);

  test('is kept while the log is not applied up to its term, for an update in it may prolong it', async () => {
    const { conversation, ...events } = given('g');
    await publish([conversation, ...Object.values(events)]);
    // when a projector comes back after the term, with the log applied up to today only
    const options = { database: rig.database, control: rig.control, store: mongoStore(rig.database) };
    const late = { now: () => day(60), tombstoneDays: 30, checkpoint: () => {}, generation: 1 };
    const prefix = rig.config.TOPIC_PREFIX;
    expect(await sweepApplied({ ...options, ...late, prefix })).toBe(0);
    // then the update that was made in time finds all of the thread
    await publish([again(conversation, 2, { updatedAt: day(29).toISOString() })]);
    expect([await isServed('g', day(58)), await messages('g')]).toEqual([true, ['msg_g_1', 'msg_g_2']]);
  }, 60_000);

  test('is kept indefinitely where the term lies beyond all dates', async () => {
    const { channel, ...events } = given('f');
    await publish([again(channel, 1, { dataRetentionDays: 4_000_000_000 }), ...Object.values(events)]);
    expect(await isServed('f', new Date(8_640_000_000_000_000))).toBe(true);
    expect(projector.fatal).toEqual([]);
  }, 60_000);
});
