import type { ConversationDocument } from '../../../../shared/documents/conversation.ts';
import { isExpired, retainUntil } from '../../../../shared/documents/retention.ts';
import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import { objectChunks } from '../../http/json-chunks.ts';
import { readRange, type RangeQuery } from '../../paging/range-query.ts';
import type { StoreReader } from '../../store/reader.ts';
import {
  presentReference,
  presentTicketItem,
  unexpiredConversations,
  type ShownConversation,
} from './presenter.ts';
import type { TicketItem } from './schema.ts';

/** Conversations read at once: 60 KB of what readers see of them. */
const batchSize = 200;

/**
 * Conversations that a page of tickets reads besides the embedded ones, about 1 MB of references. Hidden ones count
 * too, as they cost the same time.
 */
const restMax = 20_000;

type Ticket = Pick<TicketDocument, 'state' | 'joined'>;
type Read = {
  state: Pick<ConversationDocument['state'], keyof ShownConversation>;
  /** Absent while the channel is missing. */
  joined?: { channel?: { dataRetentionDays: number | null } | null };
};

const projection = {
  _id: 0,
  state: { id: 1, role: 1, status: 1, createdAt: 1, updatedAt: 1 },
  'joined.channel.dataRetentionDays': 1,
};

/** Whether the ticket has more conversations than its document embeds. */
export const hasRest = ({ joined }: Pick<Ticket, 'joined'>): boolean => joined.moreAfter !== null;

/** The conversations of a ticket behind the sort key up to which its document embeds them. */
export const restQuery = (orgId: string, ticketId: string, moreAfter: string): RangeQuery => ({
  kind: 'conversation',
  within: { 'state.ticketId': ticketId, orgId },
  field: 'byCreated',
  direction: 'ascending',
  range: { $gt: moreAfter },
  hint: 'ticket',
});

/**
 * Every visible conversation of a ticket in batches: first those that its document embeds, then the rest.
 * `onRead` is told how many were read from the store, visible or not.
 */
export async function* readConversations(
  store: StoreReader,
  { orgId, now, onRead }: { orgId: string; now: Date; onRead?: (count: number) => void },
  { state, joined }: Ticket,
): AsyncGenerator<ShownConversation[], void> {
  yield unexpiredConversations(joined, now);
  if (joined.moreAfter === null) return;
  // A conversation whose creation was corrected may be in the range before the ticket is refreshed.
  const embedded = new Set(joined.conversations.map(({ id }) => id));
  const query = restQuery(orgId, state.id, joined.moreAfter);
  for await (const batch of readRange<Read>(store, query, { projection, batchSize })) {
    onRead?.(batch.length);
    const visible = batch.filter((read) => !embedded.has(read.state.id) && isVisible(read, now));
    yield visible.map((read) => read.state);
  }
}

function isVisible({ state, joined }: Read, now: Date): boolean {
  const channel = joined?.channel;
  return !!channel && !isExpired(retainUntil(state.updatedAt, channel.dataRetentionDays), now);
}

/** The JSON text of a ticket, piece by piece, with its conversations as they are read in place of its own. */
export const ticketChunks = <Presented>(
  { conversations, createdAt, updatedAt, ...head }: TicketItem,
  batches: AsyncIterable<ShownConversation[]>,
  present: (conversation: ShownConversation) => Presented,
): AsyncGenerator<string, void> =>
  objectChunks(batches, {
    before: () => head,
    name: 'conversations',
    present,
    after: { createdAt, updatedAt },
  });

/**
 * How a page writes tickets, one after another, when conversations have to be read for them. It is full once it
 * has read `restMax`; a ticket is always written whole.
 */
export function listedTickets(store: StoreReader, reader: { orgId: string; now: Date }) {
  let read = 0;
  const onRead = (count: number) => (read += count);
  return {
    isFull: () => read >= restMax,
    write: (ticket: Ticket) =>
      ticketChunks(
        presentTicketItem(ticket, reader.now),
        readConversations(store, { ...reader, onRead }, ticket),
        presentReference,
      ),
  };
}
