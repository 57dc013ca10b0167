import {
  MongoBulkWriteError,
  type AnyBulkWriteOperation,
  type Collection,
  type Db,
  type Filter,
} from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { collectionOf } from '../../../shared/runtime/mongo.ts';
import { projections } from '../projections/projections.ts';
import type { Store, StoredDocument, Write } from './store.ts';

/** How many ids of dependents are read at a time, of 768 bytes at most; bounds what a fan-out holds of them. */
export const pageSize = 2_000;

/**
 * What a store answers for a write that lost: an id that is taken (E11000), a conflict with another write
 * (WriteConflict), or, where PostgreSQL is behind it, a deadlock (40P01) or a serialization failure (40001).
 */
const lostCodes = [11_000, 112, 16_908_292, 16_777_220];

/** The engine's store in one generation's database. */
export function mongoStore(database: Db): Store {
  const of = (kind: Kind) => collectionOf<StoredDocument>(database, kind);
  return {
    read: async (kind, ids) => findWhole(of(kind), kind, ids).toArray(),
    readSome: async (kind, ids) => {
      await using cursor = findWhole(of(kind), kind, ids);
      // One reply of the server, of 16 MB at most.
      await cursor.hasNext();
      const documents = cursor.readBufferedDocuments();
      if (!cursor.id || cursor.id.isZero()) return { documents, rest: [] };
      const found = new Set(documents.map(({ _id }) => _id));
      return { documents, rest: ids.filter((id) => !found.has(id)) };
    },
    refer: async (kind, ids) =>
      of(kind)
        .find({ _id: { $in: ids } }, { projection: referred, batchSize: ids.length + 1 })
        .toArray(),
    children: async (kind, parent, orgIds, ids) =>
      of(kind)
        .find({ orgId: { $in: orgIds }, [`own.${parent}`]: { $in: ids } }, { projection: referred })
        .toArray(),
    firsts: async (kind, parent, orgId, ids) => {
      const firstIds = await seekFirsts(of(kind), `own.${parent}`, orgId, ids);
      const found = await of(kind)
        .aggregate<StoredDocument>(
          [{ $match: { _id: { $in: [...firstIds.values()] } } }, { $project: referred }, ...cutBulky(kind)],
          { batchSize: ids.length + 1 },
        )
        .toArray();
      const byId = new Map(found.map((document) => [document._id, document]));
      const firsts = [...firstIds].map(([id, firstId]) => [id, byId.get(firstId)] as const);
      return new Map(firsts.filter((entry): entry is [string, StoredDocument] => entry[1] !== undefined));
    },
    write: async (kind, writes) => writeGuarded(of(kind), writes),
    dependents: async (kind, orgIds, by, after) => {
      const [field, values] = 'refs' in by ? ['refs', by.refs] : [`own.${by.parent}`, by.ids];
      return readPage(of(kind), kind, orgIds, { field, values, after });
    },
    markFanned: async (kind, marks) => {
      const inOrder = marks.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const operations = inOrder.map(({ id, revision, fanned, reached }) => ({
        updateOne: {
          filter: { _id: id, revision },
          update: reached
            ? { $set: { fanned, reached } }
            : { $set: { fanned }, $unset: { reached: '' as const } },
        },
      }));
      if (operations.length > 0) await of(kind).bulkWrite(operations, { ordered: false });
    },
  };
}

function findWhole(collection: Collection<StoredDocument>, kind: Kind, ids: string[]) {
  const { bulky } = projections[kind];
  const projection = bulky ? { [`own.${bulky.field}`]: 0 } : {};
  return collection.find({ _id: { $in: ids } }, { projection, batchSize: ids.length + 1 });
}

const referred = { orgId: 1, deletedAt: 1, lapsed: 1, own: 1 };

/** Leaves of the bulky field what may be shown of it: threads may open with mails of a megabyte each. */
function cutBulky(kind: Kind): object[] {
  const { bulky } = projections[kind];
  if (!bulky) return [];
  const path = `$own.${bulky.field}`;
  const head = { $substrCP: [path, 0, bulky.headMax] };
  return [{ $set: { [path.slice(1)]: { $cond: [{ $eq: [{ $type: path }, 'string'] }, head, path] } } }];
}

/** Parents looked for in one index range, and the keys read of it at a time. */
const seekParents = 100;
const seekKeys = 500;

/**
 * The id of each parent's first child. Walks the index of parents and sort keys in its order, a bounded
 * number of keys at a time: short threads share one read, and behind a long one the walk starts anew at the
 * next parent.
 */
async function seekFirsts(
  collection: Collection<StoredDocument>,
  field: string,
  orgId: string,
  ids: string[],
): Promise<Map<string, string>> {
  const firsts = new Map<string, string>();
  const open = [...new Set(ids)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  while (open.length > 0) {
    const sought = open.slice(0, seekParents);
    const keys = await collection
      .find({ orgId, [field]: { $in: sought }, byCreated: { $gte: '' } } as Filter<StoredDocument>, {
        projection: { [field]: 1 },
        sort: { [field]: 1, byCreated: 1 },
        limit: seekKeys,
        batchSize: seekKeys + 1,
      })
      .toArray();
    const parentOf = ({ own }: StoredDocument) => (own as Record<string, string>)[field.slice(4)] ?? '';
    for (const key of keys) if (!firsts.has(parentOf(key))) firsts.set(parentOf(key), key._id);
    const last = keys.at(-1);
    const reached = keys.length < seekKeys || !last ? sought.length : sought.indexOf(parentOf(last)) + 1;
    open.splice(0, reached);
  }
  return firsts;
}

/**
 * One query a page, so that nothing is lost with a cursor of the server, and what is written meanwhile is not
 * met again. The index is named: that of the ids alone would give the order too, by reading the collection.
 */
async function readPage(
  collection: Collection<StoredDocument>,
  kind: Kind,
  orgIds: string[],
  { field, values, after }: { field: string; values: string[]; after: string },
): Promise<{ ids: string[]; next: string | null }> {
  const hint = resources[kind].indexes.find(({ key }) => field in key)?.name ?? field;
  const found = await collection
    .find(
      { orgId: { $in: orgIds }, [field]: { $in: values }, _id: { $gt: after } } as Filter<StoredDocument>,
      {
        ...{ projection: { _id: 1 }, sort: { _id: 1 }, hint },
        ...{ limit: pageSize, batchSize: pageSize + 1 },
      },
    )
    .toArray();
  const ids = found.map(({ _id }) => _id);
  return { ids, next: ids.length < pageSize ? null : (ids.at(-1) ?? null) };
}

/**
 * One unordered bulk write. Each operation is an upsert filtered by the revision it was built on: where the
 * revision has moved on, the upsert runs into the unique `_id`, which names the loser. One that the store has
 * broken off for another write is as good as lost: whether it applied is seen when its document is read again.
 */
async function writeGuarded(collection: Collection<StoredDocument>, given: Write[]): Promise<Set<string>> {
  if (given.length === 0) return new Set();
  // Two bulks over the same documents in one order wait for each other; in two orders they may deadlock.
  const writes = given.toSorted((a, b) => (a.document._id < b.document._id ? -1 : 1));
  try {
    await collection.bulkWrite(writes.map(operation), { ordered: false });
    return new Set();
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
    const failed = [error.writeErrors].flat();
    if (failed.length === 0 || failed.some(({ code }) => !lostCodes.includes(Number(code)))) throw error;
    return new Set(failed.map(({ index }) => writes[index]?.document._id ?? ''));
  }
}

function operation({ op, document, guard }: Write): AnyBulkWriteOperation<StoredDocument> {
  if (guard === null) return { insertOne: { document } };
  const filter = { _id: document._id, orgId: guard.orgId, revision: guard.revision };
  if (op === 'put') {
    const { _id, ...replacement } = document;
    return { replaceOne: { filter, replacement, upsert: true } };
  }
  const { joined, refs = [], at, cut, pending, keptUntil, revision } = document;
  if (op === 'fence') return { updateOne: { filter, update: { $set: { revision } }, upsert: true } };
  const flags = { ...(pending && { pending }), ...(keptUntil && { keptUntil }) };
  const absent = {
    ...(pending ? {} : { pending: '' as const }),
    ...(keptUntil ? {} : { keptUntil: '' as const }),
  };
  const update = {
    $set: { joined, refs, at, revision, ...(cut && { cut }), ...flags },
    ...(pending && keptUntil ? {} : { $unset: absent }),
  };
  return { updateOne: { filter, update, upsert: true } };
}
