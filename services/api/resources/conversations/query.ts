import type { ConversationDocument, ConversationJoined } from '../../../../shared/documents/conversation.ts';
import { isExpired, retainUntil } from '../../../../shared/documents/retention.ts';
import type { StoreReader } from '../../store/reader.ts';
import { findOwn, type Visible } from '../find-own.ts';

/** A conversation that readers may see: its channel is known, and its retention has not passed. */
export type VisibleConversation = Visible<ConversationDocument> & {
  joined: ConversationJoined & { channel: NonNullable<ConversationJoined['channel']> };
};

export async function findConversation(
  store: StoreReader,
  { orgId, id, now }: { orgId: string; id: string; now: Date },
): Promise<VisibleConversation | null> {
  const found = await findOwn<ConversationDocument>(store, 'conversation', { orgId, id });
  return found && isVisible(found) && !isConversationExpired(found, now) ? found : null;
}

const isConversationExpired = ({ own, joined }: VisibleConversation, now: Date) =>
  isExpired(retainUntil(own.updatedAt, joined.channel.dataRetentionDays), now);

const isVisible = (found: Visible<ConversationDocument>): found is VisibleConversation =>
  found.joined.channel !== null;
