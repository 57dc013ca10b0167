import { BSON, type Document } from 'mongodb';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import type { Kind } from '../../../shared/documents/document.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { readOptions } from '../store/deadline.ts';
import type { StoreReader } from '../store/reader.ts';
import type { StateAndJoined } from './state-and-joined.ts';

type Stored = { state: unknown; joined?: unknown };

/**
 * Finds one document of an organization by id. Returns null if there is none, or if it is deleted. A text that no stored
 * id can equal is not looked up.
 */
export async function findById<D extends Stored>(
  store: StoreReader,
  kind: Kind,
  { orgId, id }: { orgId: string; id: string },
  projection: Document = { state: 1, joined: 1 },
): Promise<StateAndJoined<D> | null> {
  if (id.length > idLengthMax || id.includes('\0') || !id.isWellFormed()) return null;
  const { found } = await store.read({ kind, items: 1 }, async () => {
    const raw = await collectionOf(store.database, kind).findOne<Uint8Array>(
      { _id: id, orgId },
      { projection: { ...projection, deletedAt: 1 }, raw: true, ...readOptions() },
    );
    const read = raw && (BSON.deserialize(raw) as Partial<Stored> & { deletedAt?: Date });
    return { found: read, replyItems: raw ? 1 : 0, replyBytes: raw?.length ?? 0 };
  });
  return found?.state && !found.deletedAt ? (found as StateAndJoined<D>) : null;
}
