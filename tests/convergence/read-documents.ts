import type { Db, Filter } from 'mongodb';
import { kinds } from '../../shared/documents/document.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { collectionOf } from '../../shared/runtime/mongo.ts';

/** The living documents of a read model, as the fold gives them. */
export async function readDocuments(
  database: Db,
  filter: Filter<StoredDocument> = {},
): Promise<Record<string, unknown>> {
  const documents: Record<string, unknown> = {};
  for (const kind of kinds) {
    const found = await collectionOf<StoredDocument>(database, kind)
      .find({ ...filter, deletedAt: { $exists: false } })
      .toArray();
    for (const { _id, version, own, joined, orgId } of found) {
      documents[_id] = { kind, orgId, version, own, joined };
    }
  }
  return documents;
}
