import type { Db } from 'mongodb';
import type { ConversationDocument, ConversationJoined } from '../../../../shared/documents/conversation.ts';
import { findOwn, type Visible } from '../find-own.ts';

/** A conversation that readers may see: its channel is known. */
export type VisibleConversation = Visible<ConversationDocument> & {
  joined: ConversationJoined & { channel: NonNullable<ConversationJoined['channel']> };
};

export async function findConversation(
  database: Db,
  orgId: string,
  id: string,
): Promise<VisibleConversation | null> {
  const found = await findOwn<ConversationDocument>(database, 'conversation', { orgId, id });
  return found && isVisible(found) ? found : null;
}

const isVisible = (found: Visible<ConversationDocument>): found is VisibleConversation =>
  found.joined.channel !== null;
