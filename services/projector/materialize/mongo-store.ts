import type { Collection, Db, Filter } from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { allOrganizations } from '../../../shared/store/all-organizations.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { idInUnownedId, unownedId, unownedTombstonesOf } from '../../../shared/store/unowned-tombstones.ts';
import { embeddedFields, referencedFields } from './edges.ts';
import { readFirstChildren, type ReadChildren } from './mongo-first-children.ts';
import { writeGuarded } from './mongo-write.ts';
import {
  entityKey,
  type Child,
  type Current,
  type ReferencedEntity,
  type Store,
  type StoredDocument,
  type UnownedTombstone,
  type Write,
  type Written,
} from './store.ts';

/** Ids of dependents read at a time, 768 bytes each at most. Limits the memory of a fan-out. */
export const pageSize = 2_000;

/** The projection of an envelope. */
export const envelope = {
  orgId: 1,
  version: 1,
  revision: 1,
  position: 1,
  tombstonePosition: 1,
  deletedAt: 1,
  expiresAt: 1,
} as const;
const ofState = (fields: string[]) => Object.fromEntries(fields.map((name) => [`state.${name}`, 1]));
const current = (kind: Kind) => ({
  ...envelope,
  refs: 1,
  orphanedAt: 1,
  fanOutCursor: 1,
  ...ofState(embeddedFields(kind)),
});
const entity = { orgId: 1, revision: 1, deletedAt: 1 } as const;
const referenced = (kind: Kind) => ({ ...entity, ...ofState(referencedFields(kind)) });
const child = (kind: Kind) => ({ ...entity, ...ofState(embeddedFields(kind)), byCreated: 1 });

/** The engine's store in one generation's database. */
export function mongoStore(database: Db): Store {
  const collection = (kind: Kind) => collectionOf<StoredDocument>(database, kind);
  return {
    readCurrent: async (kind, ids, orgIds) => {
      await using cursor = ofOrganizations(collection(kind), ids, orgIds).project<Current>(current(kind));
      // One reply of the server, 16 MB at most.
      await cursor.hasNext();
      const documents = cursor.readBufferedDocuments();
      if (!cursor.id || cursor.id.isZero()) return { documents, remaining: [] };
      const found = new Set(documents.map(({ _id }) => _id));
      return { documents, remaining: ids.filter((id) => !found.has(id)) };
    },
    readEntities: async (kind, ids, orgIds) =>
      ofOrganizations(collection(kind), ids, orgIds).project<ReferencedEntity>(referenced(kind)).toArray(),
    readRevisions: async (kind, ids, orgIds) => {
      // One document of at most 8 MB. The driver takes twice as long for a document each.
      const group = { _id: null, revisions: { $push: ['$orgId', '$_id', '$revision'] } };
      const wanted = { _id: { $in: ids }, orgId: { $in: orgIds } };
      const [found] = await collection(kind)
        .aggregate<{ revisions: [string, string, number][] }>([{ $match: wanted }, { $group: group }], {
          hint: '_id_',
        })
        .toArray();
      return new Map(found?.revisions.map(([orgId, id, revision]) => [entityKey(orgId, id), revision]));
    },
    readFirstChildren: (kind, by, parents) =>
      readFirstChildren(childrenOf(collection(kind), kind, by.parentField), by, parents),
    write: (kind, writes) => writeAll(database, kind, writes),
    findDependents: async (kind, orgIds, refs) => {
      const found = await collection(kind)
        .find(
          { refs: { $in: refs }, orgId: { $in: orgIds } },
          { hint: indexOn(kind, 'refs'), limit: pageSize + 1, batchSize: pageSize + 2 },
        )
        .project<{ _id: string }>({ _id: 1 })
        .toArray();
      return found.length > pageSize ? null : [...new Set(found.map(({ _id }) => _id))];
    },
    pageOfDependents: async (kind, orgId, ref, after) => {
      const found = await collection(kind)
        .find(
          { refs: ref, orgId, _id: { $gt: after } },
          { hint: indexOn(kind, 'refs'), sort: { _id: 1 }, limit: pageSize, batchSize: pageSize + 1 },
        )
        .project<{ _id: string }>({ _id: 1 })
        .toArray();
      const ids = found.map(({ _id }) => _id);
      return { ids, next: ids.length < pageSize ? null : (ids.at(-1) ?? null) };
    },
    saveFanOutCursor: async (kind, { id: _id, isDeleted, ...state }, cursor) => {
      const update = cursor ? { $set: { fanOutCursor: cursor } } : { $unset: { fanOutCursor: '' as const } };
      await collection(kind).updateOne({ _id, ...state, deletedAt: { $exists: isDeleted } }, update);
    },
    readEnvelopes: (kind, ids) =>
      collection(kind)
        .find({ _id: { $in: ids } }, { batchSize: ids.length + 1, comment: allOrganizations.owner })
        .project<Current>({ ...envelope, 'state.id': 1 })
        .toArray(),
    readUnownedTombstones: (kind, ids) => readUnownedTombstones(database, kind, ids),
  };
}

async function readUnownedTombstones(database: Db, kind: Kind, ids: string[]): Promise<UnownedTombstone[]> {
  const found = await unownedTombstonesOf<UnownedTombstone>(database)
    .find({ _id: { $in: ids.map((id) => unownedId(kind, id)) } })
    .toArray();
  return found.map((tombstone) => ({ ...tombstone, _id: idInUnownedId(kind, tombstone._id) }));
}

/** Documents of some organizations by id, in one reply if they fit. */
const ofOrganizations = (collection: Collection<StoredDocument>, ids: string[], orgIds: string[]) =>
  collection.find({ _id: { $in: ids }, orgId: { $in: orgIds } }, { batchSize: ids.length + 1, hint: '_id_' });

/** Documents without an organization go into the collection of unowned tombstones, under the same guards. */
async function writeAll(database: Db, kind: Kind, writes: Write[]): Promise<Written> {
  const { owned = [], unowned = [] } = Object.groupBy(writes, ({ document }) =>
    document.orgId === null ? 'unowned' : 'owned',
  );
  const written = await writeGuarded(collectionOf<StoredDocument>(database, kind), owned);
  if (unowned.length === 0) return written;
  const renamed = unowned.map((write) => {
    const document = { ...write.document, _id: unownedId(kind, write.document._id) };
    return { ...write, document } as Write;
  });
  const { conflicted, refused } = await writeGuarded(unownedTombstonesOf<StoredDocument>(database), renamed);
  for (const id of conflicted) written.conflicted.add(idInUnownedId(kind, id));
  for (const [id, reason] of refused) written.refused.set(idInUnownedId(kind, id), reason);
  return written;
}

/** Reads the children for `readFirstChildren`. */
const childrenOf =
  (collection: Collection<StoredDocument>, kind: Kind, parentField: string): ReadChildren =>
  (filter, order, limit) =>
    collection
      .find(filter as Filter<StoredDocument>, {
        hint: indexOn(kind, `state.${parentField}`),
        ...(order && { sort: order }),
        limit,
        batchSize: limit + 1,
      })
      .project<Child>(child(kind))
      .toArray();

/** The name of the index that begins with a field. Without the hint, the store may read a whole other index. */
const indexOn = (kind: Kind, field: string): string => {
  const index = resources[kind].indexes.find(({ key }) => Object.keys(key)[0] === field);
  if (!index?.name) throw new Error(`${kind} documents have no index that begins with ${field}`);
  return index.name;
};
