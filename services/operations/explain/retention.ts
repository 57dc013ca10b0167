import type { Db } from 'mongodb';
import type { ConversationDocument } from '../../../shared/documents/conversation.ts';
import type { Kind } from '../../../shared/documents/document.ts';
import { retainUntil } from '../../../shared/documents/retention.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import type { StoredDocument } from '../../projector/materialize/store.ts';

/**
 * The instant from which the API answers as if a conversation or a message did not exist; null if its channel keeps it
 * for ever, and for other kinds.
 */
export async function servedUntil(
  database: Db,
  kind: Kind,
  { _id, state }: StoredDocument,
): Promise<Date | null> {
  if (!state || (kind !== 'conversation' && kind !== 'message')) return null;
  const id = kind === 'message' ? String(state.conversationId) : _id;
  const conversation = await collectionOf<ConversationDocument>(database, 'conversation').findOne(
    { _id: id },
    { projection: { 'joined.channel.dataRetentionDays': 1 } },
  );
  const from = kind === 'message' ? state.createdAt : state.updatedAt;
  return retainUntil(from as Date, conversation?.joined?.channel?.dataRetentionDays ?? null);
}
