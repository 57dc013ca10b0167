import * as build from '../../api/builders.ts';
import { startStore, type TestStore } from '../../api/test-api.ts';

const range = <T>(length: number, make: (index: number) => T) =>
  Array.from({ length }, (_, index) => make(index));

const ticketId = (index: number) => `ti_${String(index).padStart(8, '0')}`;
/** Conversations of five messages, and others with more than a page of messages; requests read them in turn. */
const shortThreads = range(500, (index) => `conv_${index}`);
const pagedThreads = range(200, (index) => `conv_page${index}`);
export const longThread = (size: number) => `conv_long${size}`;

/** A store with generation 1 of an organization's read model, in the projector's form. */
export async function seedStore(tickets: number, longThreads: readonly number[]): Promise<TestStore> {
  const store = await startStore();
  const list = range(tickets, (index) => {
    const at = new Date(Date.parse('2026-01-01') + index * 1_000).toISOString();
    return build.ticket({
      id: ticketId(index),
      title: `Printer ${index} on fire`,
      createdAt: at,
      updatedAt: at,
    });
  });
  await build.store(store.database, 'ticket', list);
  for (const id of shortThreads) await seedThread(store, id, 5);
  for (const id of pagedThreads) await seedThread(store, id, 40);
  for (const size of longThreads) await seedThread(store, longThread(size), size);
  return store;
}

async function seedThread({ database }: TestStore, id: string, size: number): Promise<void> {
  const content = 'The printer in the hall has been on fire since this morning. '.repeat(6);
  const messages = range(size, (index) => {
    const createdAt = new Date(Date.parse(build.at) + index).toISOString();
    const messageId = `msg_${id}_${String(index).padStart(6, '0')}`;
    return build.message({ id: messageId, conversationId: id, content, createdAt });
  });
  await build.store(database, 'conversation', [build.conversation({ id })]);
  await build.store(database, 'message', messages);
}

/** The paths of each measured endpoint: requests at the same time read different ids. */
export const endpointPaths = (tickets: number) => ({
  'a list of 20 tickets': ['/v1/tickets'],
  'a ticket': range(500, (index) => `/v1/tickets/${ticketId(Math.floor((index * tickets) / 500))}`),
  'a conversation of 5 messages': shortThreads.map((id) => `/v1/conversations/${id}`),
  'a page of 20 messages': pagedThreads.map((id) => `/v1/conversations/${id}/messages`),
});
