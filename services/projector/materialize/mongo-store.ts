import type { Collection, Db, Filter } from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { shownFields } from './edges.ts';
import { readFirstChildren, type ReadChildren } from './mongo-first-children.ts';
import { writeGuarded } from './mongo-write.ts';
import type { Child, Current, ReferencedEntity, Store, StoredDocument } from './store.ts';

/** Ids of dependents read at a time, of 768 bytes at most each: bounds what a fan-out holds of them. */
export const pageSize = 2_000;

const envelope = {
  orgId: 1,
  version: 1,
  revision: 1,
  position: 1,
  tombstonePosition: 1,
  deletedAt: 1,
  expiresAt: 1,
} as const;
const stateFields = (fields: string[]) => Object.fromEntries(fields.map((name) => [`state.${name}`, 1]));

/** The engine's store in one generation's database. */
export function mongoStore(database: Db): Store {
  const of = (kind: Kind) => collectionOf<StoredDocument>(database, kind);
  return {
    readCurrent: async (kind, ids) => {
      const projection = { ...envelope, refs: 1, fanOutCursor: 1, ...stateFields(shownFields(kind)) };
      await using cursor = byIds(of(kind), ids).project<Current>(projection);
      // One reply of the server, of 16 MB at most.
      await cursor.hasNext();
      const documents = cursor.readBufferedDocuments();
      if (!cursor.id || cursor.id.isZero()) return { documents, remaining: [] };
      const found = new Set(documents.map(({ _id }) => _id));
      return { documents, remaining: ids.filter((id) => !found.has(id)) };
    },
    readReferenced: async (kind, ids) =>
      byIds(of(kind), ids)
        .project<ReferencedEntity>({ orgId: 1, revision: 1, deletedAt: 1, ...stateFields(shownFields(kind)) })
        .toArray(),
    readRevisions: async (kind, ids) => {
      const found = await byIds(of(kind), ids)
        .project<{ _id: string; revision: number }>({ revision: 1 })
        .toArray();
      return new Map(found.map(({ _id, revision }) => [_id, revision]));
    },
    readFirstChildren: (kind, by, parents) =>
      readFirstChildren(childrenOf(of(kind), kind, by.parent), by, parents),
    write: (kind, writes) => writeGuarded(of(kind), writes),
    findDependents: async (kind, orgIds, refs) => {
      const found = await of(kind)
        .find(
          { refs: { $in: refs }, orgId: { $in: orgIds } },
          { hint: indexOn(kind, 'refs'), limit: pageSize + 1, batchSize: pageSize + 2 },
        )
        .project<{ _id: string }>({ _id: 1 })
        .toArray();
      return found.length > pageSize ? null : [...new Set(found.map(({ _id }) => _id))];
    },
    pageOfDependents: async (kind, orgId, ref, after) => {
      const found = await of(kind)
        .find(
          { refs: ref, orgId, _id: { $gt: after } },
          { hint: indexOn(kind, 'refs'), sort: { _id: 1 }, limit: pageSize, batchSize: pageSize + 1 },
        )
        .project<{ _id: string }>({ _id: 1 })
        .toArray();
      const ids = found.map(({ _id }) => _id);
      return { ids, next: ids.length < pageSize ? null : (ids.at(-1) ?? null) };
    },
    saveFanOutCursor: async (kind, { id, version, isDeleted }, cursor) => {
      const update = cursor ? { $set: { fanOutCursor: cursor } } : { $unset: { fanOutCursor: '' as const } };
      await of(kind).updateOne({ _id: id, version, deletedAt: { $exists: isDeleted } }, update);
    },
    markNotRefreshed: async (kind, { id, revision }, when) => {
      await of(kind).updateOne({ _id: id, revision }, { $set: { notRefreshedAt: when } });
    },
    readEnvelopes: (kind, ids) =>
      byIds(of(kind), ids)
        .project<Current>({ ...envelope, 'state.id': 1 })
        .toArray(),
  };
}

/** Documents by id, in one reply as far as they fit. */
const byIds = (collection: Collection<StoredDocument>, ids: string[]) =>
  collection.find({ _id: { $in: ids } }, { batchSize: ids.length + 1 });

/** Reads children for `readFirstChildren`. */
const childrenOf =
  (collection: Collection<StoredDocument>, kind: Kind, parent: string): ReadChildren =>
  (filter, order, limit) =>
    collection
      .find(filter as Filter<StoredDocument>, {
        hint: indexOn(kind, `state.${parent}`),
        ...(order && { sort: order }),
        ...{ limit, batchSize: limit + 1 },
      })
      .project<Child>({
        ...{ orgId: 1, revision: 1, deletedAt: 1, byCreated: 1 },
        ...stateFields(shownFields(kind)),
      })
      .toArray();

/** The name of the index that begins with a field: another one would give the order too, by reading everything. */
const indexOn = (kind: Kind, field: string): string => {
  const index = resources[kind].indexes.find(({ key }) => Object.keys(key as object)[0] === field);
  if (!index?.name) throw new Error(`${kind} documents have no index that begins with ${field}`);
  return index.name;
};
