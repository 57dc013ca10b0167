import { collectionOf } from '../../shared/store/connection.ts';
import { watermarksOf } from '../../shared/store/generations.ts';
import { sweepApplied } from '../../services/projector/retention/sweeper.ts';
import { deletionOf } from '../support/engine.ts';
import { day, eventsOf, openReadModel, type ReadModel } from './read-model.ts';

const freed = (conversations: number, messages: number) => ({ conversations, messages });

describe('conversation data past the retention of its channel', () => {
  let model: ReadModel;

  beforeEach(async () => {
    model = await openReadModel();
  }, 60_000);
  afterEach(() => model.close(), 60_000);

  const idsAt = async (name: string, now: Date) => {
    const { conversation, messages, ofTicket } = await model.answersAt(name, now);
    const ids = messages.map((state) => (state as { id: string }).id);
    return { conversation: (conversation as { id: string } | null)?.id ?? null, messages: ids, ofTicket };
  };
  const nothing = { conversation: null, messages: [], ofTicket: [] };
  const all = (name: string, ...days: string[]) => ({
    conversation: `conv_${name}`,
    messages: days.map((of) => `msg_${name}_${of}`),
    ofTicket: [`conv_${name}`],
  });

  test('is served until that instant and not from it on, freed or not, and its messages are freed first', async () => {
    // given a conversation of day 0 with messages of days 0 and 20
    const { channel, ticket, conversation, message } = eventsOf('a');
    await model.apply([channel(), ticket, conversation(0), message(0), message(20)]);
    // then a millisecond before the end of its retention all is there, and nothing is freed
    expect(await model.sweepAsOf(day(30, -1))).toEqual(freed(0, 0));
    expect(await idsAt('a', day(30, -1))).toEqual(all('a', '000', '020'));
    // and at its end nothing is served, though nothing has been freed yet
    expect(await idsAt('a', day(30))).toEqual(nothing);
    // when it is swept, what is as old goes, and the conversation once it has no message left
    expect(await model.sweepAsOf(day(30))).toEqual(freed(0, 1));
    expect(await idsAt('a', day(30))).toEqual(nothing);
    expect(await model.sweepAsOf(day(50, -1))).toEqual(freed(0, 0));
    expect(await model.everything()).toMatch(/title of a.*content of a|content of a.*title of a/);
    expect(await model.sweepAsOf(day(50))).toEqual(freed(1, 1));
    // then nothing of it is left but envelopes that the store drops
    expect(await model.everything()).not.toMatch(/(title|content) of a/);
    const left = await collectionOf(model.database, 'conversation').findOne({ _id: 'conv_a' });
    expect(left).toEqual({
      ...{ _id: 'conv_a', orgId: 'org_1', version: 1, revision: 2, expiresAt: day(80) },
      position: { partition: 0, offset: 1, timestampMs: 1 },
    });
    expect(await model.sweepAsOf(day(50))).toEqual(freed(0, 0));
  }, 60_000);

  test('a message of a living conversation is freed by its own age', async () => {
    const { channel, ticket, conversation, message } = eventsOf('b');
    await model.apply([channel(), ticket, conversation(25), message(0), message(1), message(25)]);
    expect(await idsAt('b', day(30))).toEqual(all('b', '001', '025'));
    expect(await model.sweepAsOf(day(30))).toEqual(freed(0, 1));
    expect(await idsAt('b', day(30))).toEqual(all('b', '001', '025'));
    expect(await model.sweepAsOf(day(31))).toEqual(freed(0, 1));
    expect(await idsAt('b', day(31))).toEqual(all('b', '025'));
  }, 60_000);

  test('the log gives the same answers whenever it is read and however often it was swept', async () => {
    const { channel, ticket, conversation, message } = eventsOf('c');
    const log = [
      ...[message(0), channel(), conversation(0), ticket, message(5), conversation(8, 2)],
      ...[conversation(20, 3), message(20), conversation(33, 4), message(33), channel(20, 2)],
    ];
    // given a read model that follows and is swept every day, and then reads all of it again
    let sweptConversations = 0;
    for (let number = 0; number <= 60; number += 1) {
      const event = log[number / 5];
      if (event) await model.apply([event], day(number));
      sweptConversations += (await model.sweepAsOf(day(number))).conversations;
    }
    expect(sweptConversations).toBeGreaterThan(0);
    expect(await model.everything()).not.toMatch(/(title|content) of c/);
    await model.apply(log, day(60));
    // and one that reads it once and is never swept
    const other = await openReadModel();
    await other.apply(log, day(60));
    // then they answer alike, at every instant from then on and at those before, as far as what was read tells
    for (const now of [day(0), day(25), day(39), day(52, -1), day(53), day(53, 1), day(60)])
      expect(await model.answersAt('c', now)).toEqual(await other.answersAt('c', now));
    // and what has come back is freed again
    expect((await model.sweepAsOf(day(60))).conversations).toBe(1);
    expect(await model.everything()).not.toMatch(/(title|content) of c/);
    await other.close();
  }, 120_000);

  test('comes back with a later version, with messages that are younger, and not with an older one', async () => {
    const { channel, ticket, conversation, message } = eventsOf('d');
    await model.apply([channel(), ticket, conversation(0, 2), message(0)]);
    expect(await model.sweepAsOf(day(30))).toEqual(freed(1, 1));
    // when an older version comes again
    await model.apply([conversation(40, 1)], day(30));
    expect(await idsAt('d', day(0))).toEqual(nothing);
    // and a reply comes before the update of the conversation that it made
    await model.apply([message(31)], day(31));
    expect(await model.sweepAsOf(day(31))).toEqual(freed(0, 0));
    await model.apply([conversation(31, 3)], day(31));
    // then both are served
    expect(await idsAt('d', day(31))).toEqual(all('d', '031'));
    // and freed when they are as old
    expect(await model.sweepAsOf(day(61))).toEqual(freed(1, 1));
  }, 60_000);

  test('a deleted conversation stays deleted, and a freed one is deleted like any other', async () => {
    const { channel, conversation, message } = eventsOf('e');
    await model.apply([channel(), conversation(0), message(0)]);
    await model.sweepAsOf(day(30));
    await model.apply([deletionOf(conversation(0), 2), conversation(31, 3), message(31)], day(31));
    expect(await idsAt('e', day(31))).toEqual(nothing);
    expect(await model.everything()).not.toMatch(/(title|content) of e/);
  }, 60_000);

  test('is kept where the channel keeps it, also when that is decided later', async () => {
    const { channel, ticket, conversation, message } = eventsOf('f');
    await model.apply([channel(), ticket, conversation(0), message(0), channel(0, 2)]);
    expect(await model.sweepAsOf(day(36_500))).toEqual(freed(0, 0));
    expect(await idsAt('f', day(36_500))).toEqual(all('f', '000'));
    await model.apply([channel(4_000_000_000, 3)]);
    expect(await model.sweepAsOf(day(36_500))).toEqual(freed(0, 0));
    expect(await idsAt('f', day(36_500))).toEqual(all('f', '000'));
    await model.apply([channel(10, 4)]);
    expect(await idsAt('f', day(10))).toEqual(nothing);
    expect(await model.sweepAsOf(day(10))).toEqual(freed(1, 1));
  }, 60_000);

  test('is kept while the log is not applied up to its term, for an update in it may prolong it', async () => {
    const { channel, ticket, conversation, message } = eventsOf('g');
    await model.apply([channel(), ticket, conversation(0), message(0)]);
    const sweepOn60 = () => sweepApplied({ ...model.sweepDeps(day(60)), generation: 1 });
    expect(await sweepOn60()).toEqual(freed(0, 0));
    await watermarksOf(model.control).insertOne({ _id: 1, completeTo: day(30, -1) });
    expect(await sweepOn60()).toEqual(freed(0, 0));
    await watermarksOf(model.control).updateOne({ _id: 1 }, { $set: { completeTo: day(30) } });
    expect(await sweepOn60()).toEqual(freed(1, 1));
  }, 60_000);

  /** More messages than a page has, of one conversation, and more conversations than that. */
  const givenPages = async () => {
    const { channel, conversation, message } = eventsOf('h');
    await model.apply([channel()]);
    const many = <T extends { id: string; data?: Record<string, unknown> }>(event: T, count: number) =>
      Array.from({ length: count }, (_, index) => {
        const id = `${event.id}_${String(index).padStart(4, '0')}`;
        return { ...event, id, data: { ...event.data, id } };
      });
    await model.applyAtOnce(many(conversation(0), 700));
    const data = { ...message(0).data, conversationId: 'conv_h_0003' };
    await model.applyAtOnce(many({ ...message(0), data }, 1_200));
  };

  test('is freed in full, however much it is', async () => {
    await givenPages();
    expect(await model.sweepAsOf(day(30))).toEqual(freed(700, 1_200));
    expect(await model.everything()).not.toMatch(/(title|content) of h/);
  }, 120_000);

  test('is freed in full by the next sweep where one was broken off, wherever that was', async () => {
    await givenPages();
    const total = freed(0, 0);
    let isDone = false;
    for (let steps = 1; !isDone; steps += 1) {
      // given sweeps that end at their first step, their second, and so on
      let left = steps;
      const throwIfAborted = () => {
        if ((left -= 1) < 0) throw new Error('broken off');
      };
      const swept = await model
        .sweepAsOf(day(30), { signal: { throwIfAborted } as AbortSignal })
        .catch((error: Error) => {
          expect(error.message).toBe('broken off');
          return null;
        });
      // then none of them leaves a message behind without its conversation
      const messages = await collectionOf(model.database, 'message').countDocuments({
        state: { $exists: true },
      });
      const parent = await collectionOf(model.database, 'conversation').findOne({ _id: 'conv_h_0003' });
      if (messages > 0) expect(parent).toHaveProperty('state');
      isDone = swept !== null;
      if (steps === 1) expect(messages).toBeGreaterThan(0);
      total.messages = 1_200 - messages;
    }
    expect(total.messages).toBe(1_200);
    expect(await model.everything()).not.toMatch(/(title|content) of h/);
  }, 120_000);
});
