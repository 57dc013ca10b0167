import { ApiError } from './errors.ts';
import type { Client, Message, TicketItem } from './generated/client.ts';
import { merge } from './merge.ts';
import { requireWholeNumber } from './options.ts';
import { beginAt, type ExportPosition, readPosition, writePosition } from './position.ts';
import { linkedController } from './signal.ts';
import type { Page } from './types.ts';
import { shownPrecisionMs } from './walk.ts';

export interface ExportOptions {
  client: Client;
  /** `since` of the last batch that you have stored. Without it, the run exports everything. */
  since?: string | undefined;
  /** Whether to fetch the threads of the changed tickets as well. Default false. */
  threads?: boolean | undefined;
  /** Tickets in a page. The run fetches their threads before the next page. Default 100, the maximum. */
  limit?: number | undefined;
  /** The number of threads that are fetched together. Each keeps a page of messages in memory. Default 4. */
  concurrency?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** A changed ticket, or a part of the thread of a changed ticket, to replace the older version in your copy. */
export type ExportBatch = ExportItem & {
  /** Store it after the batch. The next run continues from there. */
  since: string;
};

type ExportItem = ChangedTicket | Thread;

type ChangedTicket = { ticket: TicketItem };

type Thread = {
  conversationId: string;
  /** At most 100 messages, oldest first; null if the conversation is gone. */
  messages: Message[] | null;
  /**
   * False if further batches continue this thread. After the last batch, every message that no batch contained is gone.
   */
  isLast: boolean;
};

/**
 * Yields the tickets that have changed, oldest change first, and ends when there are no more. A batch can come twice,
 * but no batch is missing: a run begins at the earliest `Data-As-Of` of all responses of the previous run. The guide to
 * exports explains why.
 */
export async function* exportChanges(options: ExportOptions): AsyncGenerator<ExportBatch, void, undefined> {
  const { client, threads = false, limit = 100, concurrency = 4, signal } = options;
  requireWholeNumber('concurrency', concurrency, 1);
  const { controller, unlink } = linkedController(signal);
  const run: ExportRun = { client, threads, limit, concurrency, signal: controller.signal };
  try {
    let step: ExportStep | null = stepTo(run, readPosition(options.since));
    // `yield*` passes the batches of the page on, and returns the step after it.
    while (step) step = yield* exportPage(run, step);
  } finally {
    controller.abort();
    unlink();
  }
}

type ExportRun = {
  client: Client;
  threads: boolean;
  limit: number;
  concurrency: number;
  signal: AbortSignal;
};

/** The next page of a run. */
type ExportStep = {
  position: ExportPosition;
  read: () => Promise<Page<TicketItem> | null>;
  /** The cursor that the API has refused last in this run. */
  refusedCursor: string | null;
};

/** Returns the step that continues the run at a position. */
function stepTo(
  { client, limit, signal }: ExportRun,
  position: ExportPosition,
  refusedCursor: string | null = null,
): ExportStep {
  const { changedFrom, cursor } = position;
  const query = { limit, sort: 'updatedAt' as const, updatedAt: { gte: changedFrom ?? undefined } };
  const read = async () => client.tickets.list({ ...query, startingAfter: cursor }, { signal });
  return { position, read, refusedCursor };
}

/**
 * Yields the batches of one page. Returns the step to the next page, or null after the last page. Keeps each
 * batch until the next one arrives, because only the last batch of a page may move the position to the next page.
 */
async function* exportPage(
  run: ExportRun,
  step: ExportStep,
): AsyncGenerator<ExportBatch, ExportStep | null, undefined> {
  const { position: start, refusedCursor } = step;
  const page = await readPage(step);
  if (!page) return stepTo(run, beginAt(start.changedFrom), start.cursor);
  const end = {
    changedFrom: start.changedFrom,
    nextChangedFrom: earliest(start.nextChangedFrom, page.dataAsOf),
    cursor: page.nextCursor,
  };
  let pending: ExportItem | null = null;
  for await (const { asOf, item } of readItems(run, page)) {
    run.signal.throwIfAborted();
    end.nextChangedFrom = earliest(end.nextChangedFrom, asOf);
    if (!item) continue;
    if (pending) yield { ...pending, since: writePosition(start) };
    pending = item;
  }
  if (pending) yield { ...pending, since: writePosition(end) };
  if (page.nextCursor !== null) return { position: end, read: page.nextPage, refusedCursor };
  return pending ? null : stepAfterEmptyEnd(run, start, end.nextChangedFrom);
}

/** Reads the page of a step. Returns null if the API refuses the cursor, for example after a release. */
async function readPage({ position, read, refusedCursor }: ExportStep): Promise<Page<TicketItem> | null> {
  const { cursor } = position;
  try {
    return await read();
  } catch (error) {
    const isRefused = error instanceof ApiError && error.code === 'invalid_cursor';
    // If the API refuses the same cursor twice, it will refuse that cursor forever.
    if (isRefused && cursor !== null && cursor !== refusedCursor) return null;
    throw error;
  }
}

/**
 * The step after a last page without a batch; null if the run is complete. Without a batch, the page gives the caller
 * no new `since`. The last `since` still has a cursor, and the next run would miss a change that sorts before that
 * cursor. So this run reads again from the earliest Data-As-Of of its responses.
 */
function stepAfterEmptyEnd(
  run: ExportRun,
  { changedFrom, cursor }: ExportPosition,
  nextChangedFrom: Date,
): ExportStep | null {
  const restartFrom = nextChangedFrom.toISOString();
  if (cursor === null || restartFrom === changedFrom) return null;
  return stepTo(run, beginAt(restartFrom));
}

const earliest = (known: Date | null, other: Date): Date => (known && known < other ? known : other);

/**
 * An item as a replica has it. The item is null if the replica does not have the thread yet. The next run begins at
 * `asOf` or earlier.
 */
type ReadItem = { asOf: Date; item: ExportItem | null };

async function* readItems(run: ExportRun, { data, dataAsOf }: Page<TicketItem>): AsyncGenerator<ReadItem> {
  for (const ticket of data) yield { asOf: dataAsOf, item: { ticket } };
  if (!run.threads) return;
  const threads = data.flatMap((ticket) => ticket.conversations.map(({ id }) => readThread(run, ticket, id)));
  yield* merge(threads, run.concurrency);
}

async function* readThread(
  { client, signal }: ExportRun,
  ticket: TicketItem,
  conversationId: string,
): AsyncGenerator<ReadItem, void, undefined> {
  try {
    const pages = client.conversations.messages.list(conversationId, { limit: 100 }, { signal }).pages();
    for await (const { data, nextCursor, dataAsOf } of pages) {
      yield { asOf: dataAsOf, item: { conversationId, messages: data, isLast: nextCursor === null } };
    }
  } catch (error) {
    yield missingThread(error, ticket, conversationId);
  }
}

/**
 * The item for a conversation that the API does not find. A ticket changes with its threads. So if the replica that
 * answered has the ticket's change, the conversation is gone. An older replica proves nothing: the next run begins
 * early enough to read the ticket again.
 */
function missingThread(error: unknown, ticket: TicketItem, conversationId: string): ReadItem {
  if (!(error instanceof ApiError && error.code === 'conversation_not_found' && error.dataAsOf)) throw error;
  const changedAt = new Date(ticket.updatedAt);
  // The API rounds `updatedAt` down, so the change may be almost one unit of its precision later.
  const isReplicaBehind = error.dataAsOf.getTime() < changedAt.getTime() + shownPrecisionMs;
  if (isReplicaBehind) return { asOf: earliest(changedAt, error.dataAsOf), item: null };
  return { asOf: error.dataAsOf, item: { conversationId, messages: null, isLast: true } };
}
