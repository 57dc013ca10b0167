import type { ConversationDocument } from '../../../../shared/documents/conversation.ts';
import {
  embeddedFields,
  isShown,
  shownConversations,
  type StoredConversation,
} from '../../../../shared/documents/visibility.ts';
import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import { objectChunks } from '../../paging/json-chunks.ts';
import type { ItemWriter } from '../../paging/list-envelope.ts';
import { oldestFirst, type RangeQuery, type SortField } from '../../paging/key-range.ts';
import { readRange } from '../../paging/read-range.ts';
import type { StoreReader } from '../../store/reader.ts';
import type { StateAndJoined } from '../find-by-id.ts';
import { presentReference, presentTicketItem, type ConversationSummary } from './presenter.ts';
import type { TicketItem } from './schema.ts';

/** Conversations in one reply of the store: 60 KB of their summaries. */
const batchSize = 200;

/**
 * Conversations that a page of tickets reads besides the embedded ones, about 1 MB of references. Invisible ones count
 * too, because reading them takes the same time.
 */
const remainingMax = 20_000;

type Ticket = StateAndJoined<TicketDocument>;
type StoredSummary = StoredConversation & {
  state: Pick<ConversationDocument['state'], keyof ConversationSummary>;
};

/** Whether the ticket has more conversations than its document embeds. */
export const hasMoreConversations = ({ joined }: Pick<Ticket, 'joined'>): boolean =>
  joined.moreAfter !== null;

type TicketEnd = { orgId: string; ticketId: string; moreAfter: string };

/** The conversations of a ticket after the last one that its document embeds. */
export const remainingQuery = ({ orgId, ticketId, moreAfter }: TicketEnd): RangeQuery =>
  oldestFirst({
    kind: 'conversation',
    within: { 'state.ticketId': ticketId, orgId },
    hint: 'ticket',
    after: moreAfter,
  });

/** Reads the conversations that the ticket's document does not embed, visible or not. */
export async function* readRemaining(
  store: StoreReader,
  orgId: string,
  { state, joined: { moreAfter } }: Ticket,
): AsyncGenerator<StoredSummary[], void> {
  if (moreAfter === null) return;
  const query = remainingQuery({ orgId, ticketId: state.id, moreAfter });
  yield* readRange<StoredSummary>(store, query, { projection: embeddedFields, batchSize });
}

/** Yields the visible conversations of a ticket: first the embedded ones, then those of `remaining`. */
export async function* visibleConversations(
  { joined }: Ticket,
  remaining: AsyncIterable<StoredSummary[]>,
  now: Date,
): AsyncGenerator<ConversationSummary[], void> {
  yield shownConversations(joined.conversations, now);
  // If a correction changes a conversation's `createdAt`, it may be in the range before the ticket is refreshed.
  const embedded = new Set(joined.conversations.map(({ id }) => id));
  for await (const batch of remaining) {
    const visible = batch.filter((summary) => !embedded.has(summary.state.id) && isShown(summary, now));
    yield visible.map(({ state }) => state);
  }
}

/** The JSON text of a ticket in pieces; its conversations are replaced by `batches` as they are read. */
export const ticketChunks = <Presented>(
  { conversations, createdAt, updatedAt, ...head }: TicketItem,
  batches: AsyncIterable<ConversationSummary[]>,
  present: (conversation: ConversationSummary) => Presented,
): AsyncGenerator<string, void> =>
  objectChunks(batches, {
    before: () => head,
    name: 'conversations',
    present,
    after: { createdAt, updatedAt },
  });

/**
 * Writes the tickets of a page when conversations have to be read for them. The page is full once `remainingMax`
 * conversations have been read; a ticket is always written completely.
 */
export function ticketWriter(
  store: StoreReader,
  { orgId, now, field }: { orgId: string; now: Date; field: SortField },
): ItemWriter<TicketDocument> {
  let readCount = 0;
  async function* countedRemaining(ticket: Ticket) {
    for await (const batch of readRemaining(store, orgId, ticket)) {
      readCount += batch.length;
      yield batch;
    }
  }
  return {
    isFull: () => readCount >= remainingMax,
    keyOf: (ticket) => ticket[field],
    write: (ticket) =>
      ticketChunks(
        presentTicketItem(ticket, now),
        visibleConversations(ticket, countedRemaining(ticket), now),
        presentReference,
      ),
  };
}
