import type { ConversationDocument } from '../../../../shared/documents/conversation.ts';
import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import {
  embeddedFields,
  isShown,
  shownConversations,
  type StoredConversation,
} from '../../../../shared/documents/visibility.ts';
import { objectChunks } from '../../paging/json-chunks.ts';
import { oldestFirst, type RangeQuery, type SortField } from '../../paging/key-range.ts';
import type { ItemWriter } from '../../paging/list-page.ts';
import { readRange } from '../../paging/read-range.ts';
import { readListed } from '../../store/readable.ts';
import type { StoreReader } from '../../store/reader.ts';
import type { StateAndJoined } from '../find-by-id.ts';
import { type ConversationSummary, presentReference } from './presenter.ts';
import type { TicketItem, TicketResponse } from './schema.ts';

/** The conversations in one reply of MongoDB, about 60 KB of summaries. */
const batchSize = 200;

/**
 * The maximum of conversations that a page of tickets reads besides the embedded ones, about 1 MB of references. Hidden
 * conversations count too, because MongoDB takes as long to read them.
 */
const remainingMax = 20_000;

type Ticket = StateAndJoined<TicketDocument>;
type StoredSummary = StoredConversation & {
  state: Pick<ConversationDocument['state'], keyof ConversationSummary>;
};

/** Whether the ticket has more conversations than its document embeds. */
export const hasMoreConversations = ({ joined }: Pick<Ticket, 'joined'>): boolean =>
  joined.moreAfter !== null;

type RemainingConversations = { orgId: string; ticketId: string; after: string | null };

/** The conversations of a ticket after a sort key; all of them for null. */
export const remainingQuery = ({ orgId, ticketId, after }: RemainingConversations): RangeQuery =>
  oldestFirst({ kind: 'conversation', equals: { 'state.ticketId': ticketId, orgId }, hint: 'ticket', after });

type ReadOptions = {
  orgId: string;
  now: Date;
  /** Receives the number of conversations in each reply of MongoDB, visible or not. */
  onRead?: (count: number) => void;
};

/** Yields the visible conversations of a ticket: first the conversations that its document embeds, then the others. */
export async function* visibleConversations(
  store: StoreReader,
  { state, joined }: Ticket,
  { orgId, now, onRead }: ReadOptions,
): AsyncGenerator<ConversationSummary[], void> {
  yield shownConversations(joined.conversations, now);
  const { moreAfter } = joined;
  if (moreAfter === null) return;
  // An event with a later `createdAt` may have moved an embedded conversation into this range. Without this check, the
  // ticket would contain it twice.
  const embeddedIds = new Set(joined.conversations.map(({ id }) => id));
  const isVisible = (summary: StoredSummary) => !embeddedIds.has(summary.state.id) && isShown(summary, now);
  const alreadyRead = { key: moreAfter, items: 0, bytes: 0 };
  const queryAfter = (after: string | null) => remainingQuery({ orgId, ticketId: state.id, after });
  const options = { projection: embeddedFields, batchSize, alreadyRead };
  for await (const batch of readRange<StoredSummary>(store, queryAfter, options)) {
    onRead?.(batch.length);
    const visible = batch.filter((summary) =>
      readListed('conversation', summary.state.id, () => isVisible(summary), store.onUnreadable),
    );
    yield visible.map((summary) => summary.state);
  }
}

/** Yields the JSON text of a ticket in pieces. `batches` replaces the ticket's own list of conversations. */
export const ticketChunks = <Presented>(
  { onUnreadable }: Pick<StoreReader, 'onUnreadable'>,
  { conversations, createdAt, updatedAt, ...head }: TicketItem | TicketResponse,
  batches: AsyncIterable<ConversationSummary[]>,
  present: (conversation: ConversationSummary) => Presented,
): AsyncGenerator<string, void> =>
  objectChunks(batches, {
    kind: 'conversation',
    idOf: ({ id }) => id,
    onUnreadable,
    before: () => head,
    name: 'conversations',
    present,
    after: { createdAt, updatedAt },
  });

/**
 * Writes the tickets of a page, and reads the conversations that their documents do not embed. The page is full once
 * `remainingMax` conversations have been read, and always ends after a whole ticket.
 */
export function ticketWriter(
  store: StoreReader,
  { orgId, now, field }: { orgId: string; now: Date; field: SortField },
): ItemWriter<TicketDocument, TicketItem> {
  let readCount = 0;
  const onRead = (count: number) => {
    readCount += count;
  };
  return {
    isFull: () => readCount >= remainingMax,
    keyOf: (ticket) => ticket[field],
    write: (ticket, presented) => {
      const conversations = visibleConversations(store, ticket, { orgId, now, onRead });
      return ticketChunks(store, presented, conversations, presentReference);
    },
  };
}
