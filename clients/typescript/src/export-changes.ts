import type { Client } from './client.ts';
import { ApiError } from './errors.ts';
import { merge } from './merge.ts';
import { wholeNumber } from './options.ts';
import { readPlace, writePlace, type Place } from './place.ts';
import { linkedController } from './signal.ts';
import type { Conversation, Message, TicketItem } from './types.ts';

export type ExportOptions = {
  client: Client;
  /** `since` of the last batch that has been stored. Without it everything is exported. */
  since?: string | undefined;
  /** Fetches the threads of changed tickets too: `messages` page by page, `conversations` whole. */
  threads?: 'messages' | 'conversations' | undefined;
  /** Tickets in a page, whose threads are fetched before the next. Default 100, the most. */
  limit?: number | undefined;
  /** Threads that are fetched at once, each holding a page or a conversation. Default 4. */
  concurrency?: number | undefined;
  signal?: AbortSignal | undefined;
};

/** Items to be stored by id, in the place of what was known of them. Any of the lists may be empty. */
export type ChangeBatch = {
  tickets: TicketItem[];
  conversations: Conversation[];
  messages: Message[];
  /** Keep it once the batch is stored: the export goes on from here. */
  since: string;
};

/**
 * The tickets that have changed, oldest change first; it ends when there are no more. Something may come
 * twice, but nothing is left out: a run begins at the earliest `Data-As-Of` of all answers of the one before. The
 * guide to exports says why.
 */
export async function* exportChanges(options: ExportOptions): AsyncGenerator<ChangeBatch, void, undefined> {
  const { client, threads, limit = 100, concurrency = 4, signal } = options;
  wholeNumber('concurrency', concurrency, 1);
  const { controller, unlink } = linkedController(signal);
  const run: Run = { client, threads, limit, concurrency, signal: controller.signal };
  try {
    let place: Place | null = readPlace(options.since);
    while (place) place = yield* exportPage(run, place);
  } finally {
    controller.abort();
    unlink();
  }
}

type Run = {
  client: Client;
  threads: ExportOptions['threads'];
  limit: number;
  concurrency: number;
  signal: AbortSignal;
};

/** Gives the place after the page; null after the last. */
async function* exportPage(run: Run, start: Place): AsyncGenerator<ChangeBatch, Place | null, undefined> {
  const { page, place } = await readTickets(run, start);
  let next = earlier(place.next, page.dataAsOf);
  const before = writePlace(start);
  const end = () => writePlace({ from: place.from, next, cursor: page.nextCursor });
  const batch = { tickets: page.data, conversations: [], messages: [] };
  if (!run.threads || page.data.length === 0) {
    yield { ...batch, since: end() };
  } else {
    yield { ...batch, since: before };
    for await (const { dataAsOf, ...items } of threadsOf(run, page.data)) {
      next = earlier(next, dataAsOf);
      if (items.conversations || items.messages) yield { ...nothing, ...items, since: before };
    }
    yield { ...nothing, since: end() };
  }
  return page.nextCursor === null ? null : { from: place.from, next, cursor: page.nextCursor };
}

const nothing: Omit<ChangeBatch, 'since'> = { tickets: [], conversations: [], messages: [] };

const earlier = (known: Date | null, dataAsOf: Date): Date => (known && known < dataAsOf ? known : dataAsOf);

/** A cursor that the service has come to refuse, as a release may have it, begins the run again. */
async function readTickets({ client, limit, signal }: Run, place: Place) {
  const { from, cursor } = place;
  const query = {
    limit,
    sort: 'updatedAt' as const,
    ...(from === null ? {} : { updatedAt: { gte: from } }),
  };
  if (cursor === null) return { page: await client.tickets.list(query, { signal }), place };
  try {
    return { page: await client.tickets.list({ ...query, startingAfter: cursor }, { signal }), place };
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'invalid_cursor')) throw error;
    const again: Place = { from, next: null, cursor: null };
    return { page: await client.tickets.list(query, { signal }), place: again };
  }
}

/** What one answer has of a thread: nothing, where the answer is that there is none. */
type Thread = { dataAsOf: Date } & Partial<Pick<ChangeBatch, 'conversations' | 'messages'>>;

function threadsOf(run: Run, tickets: TicketItem[]): AsyncGenerator<Thread, void, undefined> {
  const read = run.threads === 'messages' ? messagesOf : conversationOf;
  const ids = tickets.flatMap(({ conversations }) => conversations.map(({ id }) => id));
  return merge(
    ids.map((id) => read(run, id)),
    run.concurrency,
  );
}

async function* messagesOf({ client, signal }: Run, id: string): AsyncGenerator<Thread, void, undefined> {
  try {
    for await (const page of client.conversations.messages.pages(id, { limit: 100 }, { signal })) {
      yield { messages: page.data, dataAsOf: page.dataAsOf };
    }
  } catch (error) {
    yield absent(error);
  }
}

async function* conversationOf({ client, signal }: Run, id: string): AsyncGenerator<Thread, void, undefined> {
  try {
    const { data, dataAsOf } = await client.conversations.retrieve(id, { signal });
    yield { conversations: [data], dataAsOf };
  } catch (error) {
    yield absent(error);
  }
}

/**
 * Deleted since its ticket was read; archived, if it was to be whole; or not there yet, where a replica that is
 * behind has answered. So the instant of this answer counts too.
 */
function absent(error: unknown): Thread {
  const isAbsent = error instanceof ApiError && error.code === 'conversation_not_found';
  if (isAbsent && error.dataAsOf) return { dataAsOf: error.dataAsOf };
  throw error;
}
