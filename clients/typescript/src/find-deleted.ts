import type { Client } from './client.ts';
import { ApiError } from './errors.ts';

/** A stored ticket or conversation, as the API has returned it. */
type StoredItem = { id: string; createdAt: string };

export type FindDeletedOptions = {
  client: Client;
  /** The tickets and the conversations of your copy. `findDeleted` holds them in memory. */
  tickets?: Iterable<StoredItem> | undefined;
  conversations?: Iterable<StoredItem> | undefined;
  signal?: AbortSignal | undefined;
};

export type DeletedItem = { object: 'ticket' | 'conversation'; id: string };

/** The API shows instants of tickets and conversations to the second. */
const shownPrecisionMs = 1_000;

/**
 * Yields the stored items that the API no longer has, because they were deleted or have expired. Reads the list of all
 * tickets, 100 for each request, then requests each stored item that the list does not mention. Yields an item only if
 * the 404 reflects the time at which the item was created: a replica that lags cannot make it look deleted.
 */
export async function* findDeleted({
  client,
  tickets = [],
  conversations = [],
  signal,
}: FindDeletedOptions): AsyncGenerator<DeletedItem, void, undefined> {
  const unseenTickets = byId(tickets);
  const unseenConversations = byId(conversations);
  for await (const ticket of client.tickets.all({ limit: 100, sort: 'createdAt' }, { signal })) {
    unseenTickets.delete(ticket.id);
    for (const { id } of ticket.conversations) unseenConversations.delete(id);
  }
  for (const item of unseenTickets.values()) {
    if (await isDeleted(item, () => client.tickets.retrieve(item.id, { signal })))
      yield { object: 'ticket', id: item.id };
  }
  for (const item of unseenConversations.values()) {
    // An archived conversation cannot be retrieved, but its messages can be listed.
    if (await isDeleted(item, () => client.conversations.messages.list(item.id, { limit: 1 }, { signal })))
      yield { object: 'conversation', id: item.id };
  }
}

const byId = (items: Iterable<StoredItem>) => new Map([...items].map((item) => [item.id, item]));

async function isDeleted({ createdAt }: StoredItem, ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return false;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404 || !error.dataAsOf) throw error;
    return error.dataAsOf.getTime() >= Date.parse(createdAt) + shownPrecisionMs;
  }
}
