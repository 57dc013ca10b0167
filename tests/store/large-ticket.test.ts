import type { CommandSucceededEvent } from 'mongodb';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { embeddedConversationsMax, type TicketJoined } from '../../shared/documents/ticket.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { applyChanges, changeOf, engineDeps, storedDocument } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

const children = 20_000;
/** The conversations that MongoDB may return for one event, in all refreshes of the ticket. This is about two pages. */
const returnedMax = 4_500;

type Reply = { cursor?: { ns: string; firstBatch?: unknown[]; nextBatch?: unknown[] } };

const idOf = (index: number) => `conv_${String(index).padStart(5, '0')}`;
const createdAt = (index: number) => new Date(index * 1_000).toISOString();
const event = (index: number, version: number, changes: Record<string, unknown> = {}): Event =>
  created('conversation', idOf(index), { createdAt: createdAt(index), ...changes }, version);

describe(`a ticket with ${children} conversations`, () => {
  const opened = useEngineStore();
  beforeAll(async () => {
    await apply(created('channel', 'chan_1'));
    const documents = Array.from({ length: children }, (_, index) => {
      const change = changeOf(event(index, 1));
      if (change.op !== 'upsert') throw new Error('the event carries no state');
      const joined = { joined: { channel: null }, refs: ['channel:chan_1'] };
      return storedDocument({ ...change.state }, { ...joined, byCreated: createdAt(index) + idOf(index) });
    });
    const conversations = collectionOf<StoredDocument>(opened.database, 'conversation');
    for (let start = 0; start < children; start += 5_000)
      await conversations.insertMany(documents.slice(start, start + 5_000));
    await apply(created('ticket', 'ti_1'));
  });

  const apply = (ticketEvent: Event) =>
    applyChanges(engineDeps(opened.store, { isApplied: () => true }), ticketEvent.kind, [
      changeOf(ticketEvent),
    ]);
  const firstIds = Array.from({ length: embeddedConversationsMax }, (_, index) => idOf(index));

  test.each([
    ['an embedded conversation', event(7, 2, { status: 'resolved' })],
    ['a conversation that is not embedded', event(children - 1, 2, { status: 'resolved' })],
    ['the ticket itself', created('ticket', 'ti_1', { title: 'Still broken' }, 2)],
  ])('makes MongoDB return a bounded number of conversations for an event of %s', async (_, ticketEvent) => {
    let returned = 0;
    const count = ({ reply }: CommandSucceededEvent) => {
      const { ns = '', firstBatch, nextBatch = [] } = (reply as Reply).cursor ?? {};
      if (ns.endsWith('.conversations')) returned += (firstBatch ?? nextBatch).length;
    };
    opened.mongo.on('commandSucceeded', count);
    await apply(ticketEvent);
    opened.mongo.off('commandSucceeded', count);
    expect(returned).toBeGreaterThan(0);
    expect(returned).toBeLessThan(returnedMax);
    const { conversations } = (await opened.find('ticket', 'ti_1'))?.joined as TicketJoined;
    expect(conversations.map(({ id }) => id)).toEqual(firstIds);
  });
});
