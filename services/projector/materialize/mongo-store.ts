import type { Abortable, Collection, Db, Filter, FindCursor, FindOptions } from 'mongodb';
import { type Kind, resources } from '../../../shared/documents/resources.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { withCommandLimit } from '../../../shared/store/within-limit.ts';
import { embeddedFields, referencedFields } from './edges.ts';
import { isRevision, readEnvelopes, readReferenced } from './envelope.ts';
import { type ReadChildren, readFirstChildren } from './mongo-first-children.ts';
import { writeGuarded } from './mongo-write.ts';
import type { Child, CurrentDocument, ReferencedEntity, Store, StoredDocument } from './store.ts';

/** The most ids of dependents that one command reads, at most 768 bytes each. This limits the memory of a fan-out. */
export const pageSize = 2_000;

/** The projection of an envelope. */
export const envelopeProjection = {
  orgId: 1,
  version: 1,
  revision: 1,
  position: 1,
  tombstonePosition: 1,
  deletedByEvent: 1,
  deletedAt: 1,
  expiresAt: 1,
  dataRetentionDays: 1,
} as const;
const stateProjection = (fields: string[]) => Object.fromEntries(fields.map((name) => [`state.${name}`, 1]));

/** The projection of an envelope, with the other fields that the engine writes for itself. */
export const engineProjection = { ...envelopeProjection, refs: 1, orphanedAt: 1, fanOutCursor: 1 } as const;
const currentProjection = (kind: Kind) => ({ ...engineProjection, ...stateProjection(embeddedFields(kind)) });
const entityProjection = { orgId: 1, revision: 1, deletedAt: 1 } as const;
const referencedProjection = (kind: Kind) => ({
  ...entityProjection,
  ...stateProjection(referencedFields(kind)),
});
const childProjection = (kind: Kind) => ({
  ...entityProjection,
  ...stateProjection(embeddedFields(kind)),
  byCreated: 1,
});

/** The engine's store in one generation's database. */
export function mongoStore(database: Db): Store {
  const collection = (kind: Kind) => collectionOf<StoredDocument>(database, kind);
  return {
    readCurrent: (kind, ids) =>
      withCommandLimit(async (limit) => {
        await using cursor = findByIds(collection(kind), ids, limit).project<CurrentDocument>(
          currentProjection(kind),
        );
        const { found, remaining } = await readFirstReply(cursor, ids);
        return { ...readEnvelopes(found), remaining };
      }),
    readEntities: (wanted) => readEntities(database, wanted),
    readRevisions: (wanted) => readRevisions(database, wanted),
    readFirstChildren: (kind, by, parents) =>
      readFirstChildren(childReader(collection(kind), kind, by.parentField), by, parents),
    write: (kind, writes) => writeGuarded(collection(kind), writes),
    findDependents: async (kind, refs) => {
      // One id more than a page shows that there is another page.
      const options = { hint: indexOn(kind, 'refs'), limit: pageSize + 1, batchSize: pageSize + 2 };
      const found = await withCommandLimit((commandLimit) =>
        collection(kind)
          .find({ refs: { $in: refs } }, { ...options, ...commandLimit })
          .project<{ _id: string }>({ _id: 1 })
          .toArray(),
      );
      if (found.length > pageSize) return null;
      return [...new Set(found.map(({ _id }) => _id))];
    },
    findDependentsPage: async (kind, ref, after) => {
      const found = await collection(kind)
        .find(
          { refs: ref, _id: { $gt: after } },
          { hint: indexOn(kind, 'refs'), sort: { _id: 1 }, limit: pageSize, batchSize: pageSize + 1 },
        )
        .project<{ _id: string }>({ _id: 1 })
        .toArray();
      const ids = found.map(({ _id }) => _id);
      const last = ids.at(-1) ?? null;
      return { ids, next: ids.length < pageSize ? null : last };
    },
    saveFanOutCursor: async (kind, { id, version, tombstonePosition, isDeleted }, cursor) => {
      const update = cursor ? { $set: { fanOutCursor: cursor } } : { $unset: { fanOutCursor: '' as const } };
      // In a filter, `null` also matches an absent field.
      const sameState = {
        _id: id,
        version,
        'tombstonePosition.partition': tombstonePosition?.partition ?? null,
        'tombstonePosition.offset': tombstonePosition?.offset ?? null,
        deletedAt: { $exists: isDeleted },
      };
      await collection(kind).updateOne(sameState, update);
    },
    readEnvelopes: (kind, ids) =>
      withCommandLimit(async (limit) => {
        const cursor = findByIds(collection(kind), ids, limit);
        const stored = await cursor
          .project<CurrentDocument>({ ...envelopeProjection, 'state.id': 1 })
          .toArray();
        return readEnvelopes(stored).documents;
      }),
  };
}

async function readEntities(
  database: Db,
  wanted: WantedIds,
): Promise<Map<Kind, Map<string, ReferencedEntity>>> {
  const stage = (kind: Kind) => ({ $project: { ...referencedProjection(kind), kind } });
  const found = await readKinds<ReferencedEntity & { kind: Kind }>(database, wanted, stage);
  const byKind = new Map<Kind, Map<string, ReferencedEntity>>();
  for (const stored of found) {
    const entity = readReferenced(stored);
    if (!entity) continue;
    const byId = byKind.get(stored.kind) ?? new Map<string, ReferencedEntity>();
    byKind.set(stored.kind, byId.set(entity._id, entity));
  }
  return byKind;
}

/** Reads one document of at most 8 MB for each kind. Otherwise the driver would decode a document for each entity. */
async function readRevisions(database: Db, wanted: WantedIds): Promise<Map<Kind, Map<string, number>>> {
  // `$push` takes a single expression.
  const revisions = { $push: { $concatArrays: [['$_id'], ['$revision']] } };
  const stage = (kind: Kind) => ({ $group: { _id: kind, revisions } });
  const found = await readKinds<{ _id: Kind; revisions: [string, number][] }>(database, wanted, stage);
  const byKind = new Map<Kind, Map<string, number>>();
  for (const group of found) {
    const readable = group.revisions.filter(([, revision]) => isRevision(revision));
    byKind.set(group._id, new Map(readable));
  }
  return byKind;
}

type WantedIds = Map<Kind, Set<string>>;

/** Reads documents of several kinds by one command. */
async function readKinds<T extends object>(database: Db, wanted: WantedIds, stage: (kind: Kind) => object) {
  const reads = [...wanted].map(([kind, ids]) => {
    const pipeline = [{ $match: { _id: { $in: [...ids] } } }, stage(kind)];
    return { kind, pipeline };
  });
  const [first, ...others] = reads;
  if (!first) return [];
  const unions = others.map(({ kind, pipeline }) => ({
    $unionWith: { coll: resources[kind].collection, pipeline },
  }));
  // All documents in one reply, if they fit. By default the first reply of MongoDB has 101 documents.
  const batchSize = [...wanted.values()].reduce((sum, ids) => sum + ids.size, 1);
  return withCommandLimit((limit) =>
    collectionOf(database, first.kind)
      .aggregate<T>([...first.pipeline, ...unions], { batchSize, ...limit })
      .toArray(),
  );
}

/** Reads the documents in the first reply of the server, 16 MB at most. `remaining` are the ids still to be read. */
async function readFirstReply<T extends { _id: string }>(cursor: FindCursor<T>, ids: string[]) {
  await cursor.hasNext();
  const found = cursor.readBufferedDocuments();
  const isComplete = !cursor.id || cursor.id.isZero();
  const known = new Set(found.map(({ _id }) => _id));
  return { found, remaining: isComplete ? [] : ids.filter((id) => !known.has(id)) };
}

/** Reads whole documents by id, in no order, up to one reply of MongoDB. */
export const readWholeDocuments = (database: Db, kind: Kind, ids: string[], projection: Record<string, 1>) =>
  withCommandLimit(async (limit) => {
    await using cursor = findByIds(collectionOf(database, kind), ids, limit).project<StoredDocument>(
      projection,
    );
    return await readFirstReply(cursor, ids);
  });

/** Finds documents by id, in one reply if they fit. By default the first reply of MongoDB has 101 documents. */
const findByIds = (collection: Collection<StoredDocument>, ids: string[], limit: Abortable) =>
  collection.find({ _id: { $in: ids } }, { batchSize: ids.length + 1, ...limit });

/** Returns the function by which `readFirstChildren` reads children. */
const childReader =
  (collection: Collection<StoredDocument>, kind: Kind, parentField: string): ReadChildren =>
  (filter, order, limit) => {
    const hint = indexOn(kind, `state.${parentField}`);
    const options: FindOptions = { hint, limit, batchSize: limit + 1 };
    if (order) options.sort = order;
    return withCommandLimit((signal) =>
      collection
        .find(filter as Filter<StoredDocument>, { ...options, ...signal })
        .project<Child>(childProjection(kind))
        .toArray(),
    );
  };

/**
 * The name of the index that begins with a field. MongoDB would choose this index without a hint, but the stand-in of
 * the tests may choose another one and read all of it.
 */
const indexOn = (kind: Kind, field: string): string => {
  const index = resources[kind].indexes.find(({ key }) => Object.keys(key)[0] === field);
  if (!index?.name) throw new Error(`${kind} documents have no index that begins with ${field}`);
  return index.name;
};
