import type { ConversationDocument } from '../../../../shared/documents/conversation.ts';
import {
  isShown,
  visibilityFields,
  type Retention,
  type StoredConversation,
} from '../../../../shared/documents/visibility.ts';
import type { StoreReader } from '../../store/reader.ts';
import { findById, type StateAndJoined } from '../find-by-id.ts';

/** A conversation that may be served: its channel is known. */
export type VisibleConversation = StateAndJoined<ConversationDocument> & { joined: { channel: Retention } };

export async function findConversation(
  store: StoreReader,
  { id, now }: { id: string; now: Date },
): Promise<VisibleConversation | null> {
  const found = await findById<ConversationDocument>(store, 'conversation', id);
  return found && isShown(found, now) ? found : null;
}

/** Finds the retention that decides which messages are visible; null if the conversation itself is not. */
export async function findRetention(
  store: StoreReader,
  { id, now }: { id: string; now: Date },
): Promise<Retention | null> {
  const found = await findById<StoredConversation>(store, 'conversation', id, visibilityFields);
  return found && isShown(found, now) ? found.joined.channel : null;
}
