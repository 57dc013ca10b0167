import type { Db, Filter } from 'mongodb';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';

/** Reads the documents of a read model that are not deleted, by id and in the form of the fold. */
export async function readDocuments(
  database: Db,
  filter: Filter<StoredDocument> = {},
): Promise<Record<string, unknown>> {
  const documents: Record<string, unknown> = {};
  const living = { ...filter, deletedAt: { $exists: false } };
  for (const kind of kinds) {
    const stored = collectionOf<StoredDocument>(database, kind).find(living);
    for await (const document of stored) documents[document._id] = comparable(kind, document);
  }
  return documents;
}

/** The fields that the fold determines. Revision and position depend on the order in which workers apply records. */
export function comparable(kind: Kind, document: StoredDocument) {
  const { orgId, version, state, joined, refs, byCreated, byUpdated, pending } = document;
  const sortKeys: { byCreated?: string; byUpdated?: string } = {};
  if (byCreated !== undefined) sortKeys.byCreated = byCreated;
  if (byUpdated !== undefined) sortKeys.byUpdated = byUpdated;
  const isPending = pending === true;
  return { kind, orgId, version, state, joined, refs: refs?.toSorted(), sortKeys, isPending };
}
