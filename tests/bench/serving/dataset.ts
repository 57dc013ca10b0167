import * as build from '../../api/builders.ts';
import { startStore, type TestStore } from '../../api/test-api.ts';

const range = <T>(length: number, make: (index: number) => T) =>
  Array.from({ length }, (_, index) => make(index));

const ticketId = (index: number) => `ti_${String(index).padStart(8, '0')}`;
/** Conversations of five messages, and conversations with two pages of messages. Requests read them in turn. */
const threads = {
  short: { ids: range(500, (index) => `conv_${index}`), size: 5 },
  paged: { ids: range(200, (index) => `conv_page${index}`), size: 40 },
};

/** A store with generation 1 of an organization's read model, in the projector's form. */
export async function seedStore(tickets: number): Promise<TestStore> {
  const store = await startStore();
  const list = range(tickets, (index) => {
    const createdAt = new Date(Date.parse('2026-01-01') + index * 1_000).toISOString();
    const times = { createdAt, updatedAt: createdAt };
    return build.ticket({ id: ticketId(index), title: `Printer ${index} on fire`, ...times });
  });
  await build.store(store.database, 'ticket', list);
  const content = 'The printer in the hall has been on fire since this morning. '.repeat(6);
  for (const { ids, size } of Object.values(threads)) {
    for (const conversationId of ids) {
      const messages = range(size, (index) => {
        const createdAt = new Date(Date.parse(build.at) + index).toISOString();
        const id = `msg_${conversationId}_${String(index).padStart(6, '0')}`;
        return build.message({ id, conversationId, content, createdAt });
      });
      await build.store(store.database, 'conversation', [build.conversation({ id: conversationId })]);
      await build.store(store.database, 'message', messages);
    }
  }
  return store;
}

/** The paths of each measured endpoint. An endpoint has many paths, so concurrent requests read different ids. */
export const endpointPaths = (tickets: number) => ({
  'a list of 20 tickets': ['/v1/tickets'],
  'a ticket': range(500, (index) => `/v1/tickets/${ticketId(Math.floor((index * tickets) / 500))}`),
  'a conversation of 5 messages': threads.short.ids.map((id) => `/v1/conversations/${id}`),
  'a page of 20 messages': threads.paged.ids.map((id) => `/v1/conversations/${id}/messages`),
});
