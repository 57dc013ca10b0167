import { ApiError } from './errors.ts';
import type { Client, Message, TicketItem } from './generated/client.ts';
import { merge } from './merge.ts';
import { wholeNumber } from './options.ts';
import { type ExportPosition, readPosition, writePosition } from './position.ts';
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
export type ExportBatch = (ChangedTicket | Thread) & {
  /** Store it after the batch. The next run continues from there. */
  since: string;
};

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
  wholeNumber('concurrency', concurrency, 1);
  const { controller, unlink } = linkedController(signal);
  const run: ExportRun = { client, threads, limit, concurrency, signal: controller.signal };
  try {
    let step: ExportStep | null = stepTo(run, readPosition(options.since));
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
  { position: startPosition, read, refusedCursor }: ExportStep,
): AsyncGenerator<ExportBatch, ExportStep | null, undefined> {
  const { changedFrom, nextChangedFrom, cursor } = startPosition;
  const { signal } = run;
  const page = await read().catch((error: unknown) => {
    const isRefused = error instanceof ApiError && error.code === 'invalid_cursor';
    // If the API refuses the same cursor twice, it will refuse that cursor forever.
    if (isRefused && cursor !== null && cursor !== refusedCursor) return null;
    throw error;
  });
  // The API refuses the cursor, for example after a release, so the run starts again.
  if (!page) return stepTo(run, { changedFrom, nextChangedFrom: null, cursor: null }, cursor);
  const endPosition = {
    changedFrom,
    nextChangedFrom: earlier(nextChangedFrom, page.dataAsOf),
    cursor: page.nextCursor,
  };
  let pending: ChangedTicket | Thread | null = null;
  for await (const { asOf, content } of readContents(run, page)) {
    signal.throwIfAborted();
    endPosition.nextChangedFrom = earlier(endPosition.nextChangedFrom, asOf);
    if (!content) continue;
    if (pending) yield { ...pending, since: writePosition(startPosition) };
    pending = content;
  }
  if (pending) yield { ...pending, since: writePosition(endPosition) };
  if (page.nextCursor !== null) return { position: endPosition, read: page.nextPage, refusedCursor };
  // The last page had no batch to carry a new `since`, so the caller still has one with the cursor of this page. The
  // next run would miss a late change that sorts before the cursor: this run reads again from its earliest Data-As-Of.
  const restartFrom = endPosition.nextChangedFrom.toISOString();
  if (pending || cursor === null || restartFrom === changedFrom) return null;
  return stepTo(run, { changedFrom: restartFrom, nextChangedFrom: null, cursor: null });
}

const earlier = (known: Date | null, other: Date): Date => (known && known < other ? known : other);

/**
 * A part of an export. Its content is null if the replica that answered does not have the thread yet. The next run
 * begins at `asOf` or earlier.
 */
type ExportPart = { asOf: Date; content: ChangedTicket | Thread | null };

async function* readContents(
  run: ExportRun,
  { data, dataAsOf }: Page<TicketItem>,
): AsyncGenerator<ExportPart> {
  for (const ticket of data) yield { asOf: dataAsOf, content: { ticket } };
  if (!run.threads) return;
  const threads = data.flatMap((ticket) => ticket.conversations.map(({ id }) => readThread(run, ticket, id)));
  yield* merge(threads, run.concurrency);
}

async function* readThread(
  { client, signal }: ExportRun,
  ticket: TicketItem,
  conversationId: string,
): AsyncGenerator<ExportPart, void, undefined> {
  try {
    const pages = client.conversations.messages.list(conversationId, { limit: 100 }, { signal }).pages();
    for await (const { data, nextCursor, dataAsOf } of pages) {
      yield { asOf: dataAsOf, content: { conversationId, messages: data, isLast: nextCursor === null } };
    }
  } catch (error) {
    yield missingThread(error, ticket, conversationId);
  }
}

/**
 * The part for a conversation that the API does not find. A ticket changes with its threads. So if the replica that
 * answered has the ticket's change, the conversation is gone. An older replica proves nothing: the next run begins
 * early enough to read the ticket again.
 */
function missingThread(error: unknown, ticket: TicketItem, conversationId: string): ExportPart {
  if (!(error instanceof ApiError && error.code === 'conversation_not_found' && error.dataAsOf)) throw error;
  const changedAt = new Date(ticket.updatedAt);
  // The API rounds `updatedAt` down, so the change may be almost one unit of its precision later.
  const isReplicaBehind = error.dataAsOf.getTime() < changedAt.getTime() + shownPrecisionMs;
  if (isReplicaBehind) return { asOf: earlier(changedAt, error.dataAsOf), content: null };
  return { asOf: error.dataAsOf, content: { conversationId, messages: null, isLast: true } };
}
