import type { ServedKind } from '../../../shared/documents/served-indexes.ts';

/**
 * A stored document that cannot be presented, because an operator's edit has broken it. The message names the document,
 * for the log; clients get `internal_error`.
 */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument';
  readonly kind: ServedKind;
  readonly id: string;

  constructor(kind: ServedKind, id: string, cause: unknown) {
    super(`the ${kind} ${id} cannot be read: an edit has broken it`, { cause });
    this.kind = kind;
    this.id = id;
  }
}

/** Receives each document that a list leaves out. */
export type OnUnreadable = (unreadable: UnreadableDocument) => void;

/**
 * Returns the result of `read`, which reads fields of the stored document with this id. Throws `UnreadableDocument` if
 * `read` throws, or if a field of its result has no value.
 */
export function readStored<T>(kind: ServedKind, id: string, read: () => T): T {
  try {
    return requireValues(read());
  } catch (cause) {
    throw cause instanceof UnreadableDocument ? cause : new UnreadableDocument(kind, id, cause);
  }
}

/**
 * Like `readStored`, for one document of a list. Returns null for an unreadable document, which the list leaves out and
 * `onUnreadable` receives.
 */
export function readListed<T>(
  kind: ServedKind,
  id: string,
  read: () => T,
  onUnreadable: OnUnreadable,
): T | null {
  try {
    return readStored(kind, id, read);
  } catch (error) {
    if (!(error instanceof UnreadableDocument)) throw error;
    onUnreadable(error);
    return null;
  }
}

/** Throws if a field has no value: JSON would leave the field out, and clients rely on it. */
function requireValues<T>(presented: T): T {
  // A presenter returns nothing for a channel of an unknown type.
  if (presented === undefined) throw new TypeError('its type is unknown');
  if (typeof presented !== 'object' || presented === null) return presented;
  if (Object.values(presented).includes(undefined)) throw new TypeError('a field has no value');
  return presented;
}
