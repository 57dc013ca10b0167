import type { Document } from 'mongodb';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import type { ServedKind } from '../../../shared/documents/served-indexes.ts';
import { isShown, type StoredConversation } from '../../../shared/documents/visibility.ts';
import { readStored, UnreadableDocument } from '../store/readable.ts';
import type { StoreReader } from '../store/reader.ts';

type Stored = { state: unknown; joined?: unknown };

/** The part of a stored document that presenters need. */
export type StateAndJoined<D extends Stored> = Pick<D, 'state' | 'joined'>;

/**
 * Finds one document of the reader's organization by id. Returns null if the document does not exist, was deleted or
 * was purged. Throws `UnreadableDocument` if the document lacks its state for another reason.
 */
export async function findById<D extends Stored>(
  store: StoreReader,
  kind: ServedKind,
  id: string,
  projection: Document = { state: 1, joined: 1 },
): Promise<StateAndJoined<D> | null> {
  // Such a text is never a stored id, so it needs no look-up.
  if (id.length > idLengthMax || id.includes('\0') || !id.isWellFormed()) return null;
  const document = await store.find({ kind, projection: { ...projection, deletedAt: 1, expiresAt: 1 } }, id);
  if (!document || document.deletedAt) return null;
  if (typeof document.state === 'object' && document.state !== null) return document as StateAndJoined<D>;
  // The sweep has removed the expired state. The rest of the document stays until `expiresAt`.
  if (document.state === undefined && document.expiresAt) return null;
  throw new UnreadableDocument(kind, id, new TypeError('it has no state'));
}

/**
 * Finds a conversation of the reader's organization by id. Returns null if it does not exist, or if the API must not
 * show it at `now`.
 */
export async function findConversation<C extends StoredConversation>(
  store: StoreReader,
  id: string,
  now: Date,
  projection?: Document,
) {
  const conversation = await findById<C>(store, 'conversation', id, projection);
  if (!conversation) return null;
  return readStored('conversation', id, () => (isShown(conversation, now) ? conversation : null));
}
