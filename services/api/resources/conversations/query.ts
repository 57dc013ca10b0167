import type { ConversationDocument, ConversationJoined } from '../../../../shared/documents/conversation.ts';
import { isExpired, retainUntil } from '../../../../shared/documents/retention.ts';
import type { StoreReader } from '../../store/reader.ts';
import { findById } from '../find-by-id.ts';
import type { StateAndJoined } from '../find-by-id.ts';

/** A conversation that may be served: its channel exists, and it has not expired. */
export type VisibleConversation = StateAndJoined<ConversationDocument> & {
  joined: ConversationJoined & { channel: NonNullable<ConversationJoined['channel']> };
};

export async function findConversation(
  store: StoreReader,
  { id, now }: { id: string; now: Date },
): Promise<VisibleConversation | null> {
  const found = await findById<ConversationDocument>(store, 'conversation', id);
  return found && isVisible(found) && !isConversationExpired(found, now) ? found : null;
}

/** Finds the retention that decides which messages are visible; null if the conversation itself is not. */
export async function findRetention(
  store: StoreReader,
  { id, now }: { id: string; now: Date },
): Promise<Retention | null> {
  const found = await findById<StoredRetention>(store, 'conversation', id, retentionFields);
  const channel = found?.joined?.channel;
  if (!channel || isExpired(retainUntil(found.state.updatedAt, channel.dataRetentionDays), now)) return null;
  return { dataRetentionDays: channel.dataRetentionDays };
}

export type Retention = { dataRetentionDays: number | null };

const retentionFields = { 'state.updatedAt': 1, 'joined.channel.dataRetentionDays': 1 };
/** `channel` is absent if the channel's document is missing. */
type StoredRetention = { state: { updatedAt: Date }; joined?: { channel?: Retention | null } };

const isConversationExpired = ({ state, joined }: VisibleConversation, now: Date) =>
  isExpired(retainUntil(state.updatedAt, joined.channel.dataRetentionDays), now);

const isVisible = (found: StateAndJoined<ConversationDocument>): found is VisibleConversation =>
  found.joined.channel !== null;
