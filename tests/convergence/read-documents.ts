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
  for (const kind of kinds) {
    const stored = collectionOf<StoredDocument>(database, kind).find({
      ...filter,
      deletedAt: { $exists: false },
    });
    for await (const document of stored) documents[document._id] = comparable(kind, document);
  }
  return documents;
}

/** The fields that the fold determines. Revision and position depend on the order in which workers apply records. */
export const comparable = (
  kind: Kind,
  { orgId, version, state, joined, refs, byCreated, byUpdated, pending }: StoredDocument,
) => ({
  kind,
  orgId,
  version,
  state,
  joined,
  refs: refs?.toSorted(),
  sortKeys: { ...(byCreated !== undefined && { byCreated }), ...(byUpdated !== undefined && { byUpdated }) },
  isPending: pending === true,
});
