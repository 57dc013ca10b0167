import type { ConversationDocument, ConversationJoined } from '../../../../shared/documents/conversation.ts';
import { isExpired, retainUntil } from '../../../../shared/documents/retention.ts';
import type { StoreReader } from '../../store/reader.ts';
import { findById, type Visible } from '../find-by-id.ts';

/** A conversation that readers may see: its channel is known, and its retention has not passed. */
export type VisibleConversation = Visible<ConversationDocument> & {
  joined: ConversationJoined & { channel: NonNullable<ConversationJoined['channel']> };
};

export async function findConversation(
  store: StoreReader,
  { orgId, id, now }: { orgId: string; id: string; now: Date },
): Promise<VisibleConversation | null> {
  const found = await findById<ConversationDocument>(store, 'conversation', { orgId, id });
  return found && isVisible(found) && !isConversationExpired(found, now) ? found : null;
}

/** What decides which messages of a conversation are seen; null where the conversation itself is not. */
export async function findRetention(
  store: StoreReader,
  { orgId, id, now }: { orgId: string; id: string; now: Date },
): Promise<Retention | null> {
  const found = await findById<RetentionRead>(store, 'conversation', { orgId, id }, retentionFields);
  const channel = found?.joined?.channel;
  if (!channel || isExpired(retainUntil(found.state.updatedAt, channel.dataRetentionDays), now)) return null;
  return { dataRetentionDays: channel.dataRetentionDays };
}

export type Retention = { dataRetentionDays: number | null };

const retentionFields = { 'state.updatedAt': 1, 'joined.channel.dataRetentionDays': 1 };
/** Of a channel that is missing the store gives nothing. */
type RetentionRead = { state: { updatedAt: Date }; joined?: { channel?: Retention | null } };

const isConversationExpired = ({ state, joined }: VisibleConversation, now: Date) =>
  isExpired(retainUntil(state.updatedAt, joined.channel.dataRetentionDays), now);

const isVisible = (found: Visible<ConversationDocument>): found is VisibleConversation =>
  found.joined.channel !== null;
