import * as build from '../../api/builders.ts';
import { startStore, type TestStore } from '../../api/test-api.ts';

/** The numbers of tickets, and of messages in each long thread. */
export type ServingCounts = { tickets: number; threads: number[] };

/** Conversations of five messages, and others with more than a page of messages; requests read them in turn. */
const conversations = 500;
const messagesEach = 5;
const pagedConversations = 200;
const messagesOfAPage = 40;

/** A store with generation 1 of an organization's read model, in the projector's form. */
export async function seedStore({ tickets, threads }: ServingCounts): Promise<TestStore> {
  const store = await startStore();
  const startMs = Date.parse('2026-01-01T00:00:00Z');
  const instant = (index: number) => new Date(startMs + index * 1_000).toISOString();
  const batch = 10_000;
  for (let from = 0; from < tickets; from += batch) {
    const size = Math.min(batch, tickets - from);
    const some = Array.from({ length: size }, (_, index) =>
      build.ticket({
        id: ticketId(from + index),
        title: `Printer ${from + index} on fire`,
        createdAt: instant(from + index),
        updatedAt: instant(from + index),
      }),
    );
    await build.store(store.database, 'ticket', some);
  }
  await seedThread(store, range(conversations).map(shortThreadId), messagesEach);
  await seedThread(store, range(pagedConversations).map(pagedThreadId), messagesOfAPage);
  for (const size of threads) await seedThread(store, [longThreadId(size)], size);
  return store;
}

async function seedThread({ database }: TestStore, ids: string[], size: number): Promise<void> {
  const items = ids.map((id) => build.conversation({ id }));
  await build.store(database, 'conversation', items);
  const content = 'The printer in the hall has been on fire since this morning. '.repeat(6);
  for (const id of ids) {
    const messages = range(size).map((index) =>
      build.message({
        id: `msg_${id}_${String(index).padStart(6, '0')}`,
        conversationId: id,
        content,
        createdAt: new Date(Date.parse(build.at) + index).toISOString(),
      }),
    );
    await build.store(database, 'message', messages);
  }
}

const range = (length: number) => Array.from({ length }, (_, index) => index);
export const ticketId = (index: number) => `ti_${String(index).padStart(8, '0')}`;
const shortThreadId = (index: number) => `conv_${index}`;
const pagedThreadId = (index: number) => `conv_page${index}`;
export const longThreadId = (size: number) => `conv_long${size}`;

/** The measured endpoints, each with the paths of its requests: requests at the same time read different ids. */
export const endpointsOf = (tickets: number) => [
  { name: 'tickets', title: 'a list of 20 tickets', paths: ['/v1/tickets'] },
  {
    name: 'ticket',
    title: 'a ticket',
    paths: range(500).map((index) => `/v1/tickets/${ticketId(Math.floor((index * tickets) / 500))}`),
  },
  {
    name: 'conversation',
    title: 'a conversation of 5 messages',
    paths: range(conversations).map((index) => `/v1/conversations/${shortThreadId(index)}`),
  },
  {
    name: 'messages',
    title: 'a page of 20 messages',
    paths: range(pagedConversations).map((index) => `/v1/conversations/${pagedThreadId(index)}/messages`),
  },
];

export type Endpoint = ReturnType<typeof endpointsOf>[number];
