import { dayMs } from './instant.ts';
import type { TicketJoined } from './ticket.ts';

/** The last instant that a `Date` can represent. */
const lastMs = 8_640_000_000_000_000;

/** How many days a channel keeps data; forever if 0 or null. */
export type Retention = { dataRetentionDays: number | null };

/**
 * The fields of a conversation that decide whether the API shows it and its messages. `channel` is null or absent while
 * the channel is missing.
 */
export type StoredConversation = {
  state: { updatedAt: Date };
  joined?: { channel?: Retention | null } | undefined;
};

/** The MongoDB projection of these fields. */
export const visibilityFields = { 'state.updatedAt': 1, 'joined.channel.dataRetentionDays': 1 };

/** The instant `from` plus the retention; null if the data never expires. */
function retainUntil(from: Date, retention: Retention | null | undefined): Date | null {
  // Reads the instant even without a retention: if an edit has broken it, this throws, and the API leaves the document
  // out.
  const fromMs = from.getTime();
  const days = retention?.dataRetentionDays;
  if (!days) return null;
  const ms = fromMs + days * dayMs;
  return ms <= lastMs ? new Date(ms) : null;
}

const isPast = (until: Date | null, now: Date): boolean => until !== null && until <= now;

/** Data from this instant or earlier has expired at `now`; null if nothing expires. */
export function expiredUpTo({ dataRetentionDays }: Retention, now: Date): Date | null {
  if (!dataRetentionDays) return null;
  const ms = now.getTime() - dataRetentionDays * dayMs;
  return ms >= -lastMs ? new Date(ms) : null;
}

/**
 * When a conversation expires; null if never. With `createdAt` of a message as `from`, this is when the message
 * expires.
 */
export const expiry = ({ state, joined }: StoredConversation, from = state.updatedAt): Date | null =>
  retainUntil(from, joined?.channel);

/**
 * Whether a conversation, or a message of it, has expired. A conversation without a channel is hidden, but never
 * expires.
 */
export const isExpired = (conversation: StoredConversation, now: Date, from?: Date): boolean =>
  isPast(expiry(conversation, from), now);

/** Whether a conversation, or a message of it, is shown: its channel is known, and it has not expired. */
export const isShown = <C extends StoredConversation>(
  conversation: C,
  now: Date,
  from?: Date,
): conversation is C & { joined: { channel: Retention } } =>
  Boolean(conversation.joined?.channel) && !isExpired(conversation, now, from);

type Embedded = TicketJoined['conversations'][number];

/** The conversations embedded in a ticket that are shown. */
export const shownConversations = <E extends Pick<Embedded, 'retainUntil'>>(embedded: E[], now: Date): E[] =>
  embedded.filter((conversation) => !isPast(conversation.retainUntil ?? null, now));

/** A conversation as a ticket embeds it; empty while its channel is missing. */
export function embeddedConversation(
  { id, role, status, createdAt, updatedAt }: Omit<Embedded, 'retainUntil'>,
  channel: Retention | null | undefined,
): Embedded[] {
  if (!channel) return [];
  return [{ id, role, status, createdAt, updatedAt, retainUntil: retainUntil(updatedAt, channel) }];
}

/** The MongoDB projection of a conversation that `embeddedConversation` needs. */
export const embeddedFields = {
  _id: 0,
  'state.id': 1,
  'state.role': 1,
  'state.status': 1,
  'state.createdAt': 1,
  ...visibilityFields,
};
