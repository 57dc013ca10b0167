import type { Client } from './client.ts';
import { ApiError } from './errors.ts';
import { merge } from './merge.ts';
import { wholeNumber } from './options.ts';
import { readPosition, writePosition, type ExportPosition } from './position.ts';
import { linkedController } from './signal.ts';
import type { Conversation, Message, TicketItem } from './types.ts';

export type ExportOptions = {
  client: Client;
  /** `since` of the last stored batch. Without it, everything is exported. */
  since?: string | undefined;
  /** Also fetches the threads of changed tickets: `messages` page by page, `conversations` whole. */
  threads?: 'messages' | 'conversations' | undefined;
  /** Tickets in a page. Their threads are fetched before the next page. Default 100, the maximum. */
  limit?: number | undefined;
  /** Threads that are fetched at once; each holds a page or a conversation in memory. Default 4. */
  concurrency?: number | undefined;
  signal?: AbortSignal | undefined;
};

/** Items to store by id; each replaces an older version. Any of the lists may be empty. */
export type ChangeBatch = {
  tickets: TicketItem[];
  conversations: Conversation[];
  messages: Message[];
  /** Keep it after you have stored the batch. The export continues from here. */
  since: string;
};

/**
 * Yields the tickets that have changed, oldest change first, and ends when there are no more. An item can come twice, but
 * none is missing: a run begins at the earliest `Data-As-Of` of all responses of the previous run. The guide to exports
 * explains why.
 */
export async function* exportChanges(options: ExportOptions): AsyncGenerator<ChangeBatch, void, undefined> {
  const { client, threads, limit = 100, concurrency = 4, signal } = options;
  wholeNumber('concurrency', concurrency, 1);
  const { controller, unlink } = linkedController(signal);
  const run: Run = { client, threads, limit, concurrency, signal: controller.signal };
  try {
    let position: ExportPosition | null = readPosition(options.since);
    while (position) position = yield* exportPage(run, position);
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

/** Yields the batches of one page. Returns the position after it, or null after the last page. */
async function* exportPage(
  run: Run,
  start: ExportPosition,
): AsyncGenerator<ChangeBatch, ExportPosition | null, undefined> {
  const { page, position } = await readTickets(run, start);
  let next = earlier(position.next, page.dataAsOf);
  const before = writePosition(start);
  const end = () => writePosition({ from: position.from, next, cursor: page.nextCursor });
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
  return page.nextCursor === null ? null : { from: position.from, next, cursor: page.nextCursor };
}

const nothing: Omit<ChangeBatch, 'since'> = { tickets: [], conversations: [], messages: [] };

const earlier = (known: Date | null, dataAsOf: Date): Date => (known && known < dataAsOf ? known : dataAsOf);

/** Reads a page of tickets. If the API refuses the cursor, for example after a release, the run starts again. */
async function readTickets({ client, limit, signal }: Run, position: ExportPosition) {
  const { from, cursor } = position;
  const query = { limit, sort: 'updatedAt' as const, ...(from === null ? {} : { updatedAt: { gte: from } }) };
  if (cursor === null) return { page: await client.tickets.list(query, { signal }), position };
  try {
    return { page: await client.tickets.list({ ...query, startingAfter: cursor }, { signal }), position };
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'invalid_cursor')) throw error;
    const restart: ExportPosition = { from, next: null, cursor: null };
    return { page: await client.tickets.list(query, { signal }), position: restart };
  }
}

/** The items of a thread in one response. Without items if the conversation does not exist. */
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
 * The conversation was deleted after its ticket was read; or it is archived, with `threads: 'conversations'`; or a
 * replica that lags does not have it yet. Because of the last case, the `Data-As-Of` of this error counts too.
 */
function absent(error: unknown): Thread {
  const isAbsent = error instanceof ApiError && error.code === 'conversation_not_found';
  if (isAbsent && error.dataAsOf) return { dataAsOf: error.dataAsOf };
  throw error;
}
