import type { VerifyDeps } from '../../services/operations/verify/verify-documents.ts';
import { embeddedFields, idIn, referencedFields } from '../../services/projector/materialize/edges.ts';
import {
  type ReadChildren,
  readFirstChildren,
} from '../../services/projector/materialize/mongo-first-children.ts';
import type {
  CurrentDocument,
  ReferencedEntity,
  Store,
  StoredDocument,
  Write,
} from '../../services/projector/materialize/store.ts';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { confirm, type LoggedWrite, logWrite, type Oplog } from './oplog.ts';
import { NoReply } from './schedule.ts';

export type Data = Map<Kind, Map<string, StoredDocument>>;

export const emptyData = (): Data => new Map(kinds.map((kind) => [kind, new Map<string, StoredDocument>()]));

/** Dependents in a page: one, so that a fan-out saves its cursor after each document. */
const pageSize = 1;
/** Documents that one read returns, at most. */
const readAtOnce = 2;

/**
 * The engine's store in memory, which allows every interleaving that MongoDB allows. A read of several documents takes
 * several steps, between which other workers write; a bulk write takes one step a document. It awaits `pause` before
 * each step, and once more before it acknowledges a write: until then a fail-over may roll the write back. A test in
 * `tests/store` compares its answers with those of MongoDB.
 */
export function memoryStore(
  data: Data,
  pause: (label: string) => Promise<void> = async () => undefined,
  oplog: Oplog = [],
): Store {
  const documents = (kind: Kind) => data.get(kind) ?? new Map<string, StoredDocument>();
  const save = (kind: Kind, document: StoredDocument) => {
    lastWriteNumber += 1;
    writeNumbers.set(document, String(lastWriteNumber).padStart(12, '0'));
    documents(kind).set(document._id, document);
  };
  /** Reads one document after another, each as it is at its own step. */
  const readEach = async <T>(kind: Kind, ids: string[], choose: (document: StoredDocument) => T) => {
    const found: T[] = [];
    for (const id of new Set(ids)) {
      await pause(`read ${kind} ${id}`);
      const document = documents(kind).get(id);
      if (document) found.push(structuredClone(choose(document)));
    }
    return found;
  };
  const readKinds = async <T>(
    wanted: Map<Kind, Set<string>>,
    choose: (kind: Kind, document: StoredDocument) => T,
  ) => {
    const read = async ([kind, ids]: [Kind, Set<string>]) => {
      const entryOf = (document: StoredDocument) => [document._id, choose(kind, document)] as const;
      const entries = await readEach(kind, [...ids], entryOf);
      return [kind, new Map(entries)] as const;
    };
    const byKind = await Promise.all([...wanted].map(read));
    return new Map(byKind);
  };
  /**
   * Reads an index key by key. Each step reads the next key after the last one, even if other workers have written
   * since.
   */
  const scan = async (
    kind: Kind,
    keyOf: (document: StoredDocument) => string | null,
    limit: number,
    label: string,
  ) => {
    const found: StoredDocument[] = [];
    let after = '';
    while (found.length < limit) {
      await pause(label);
      const next = nextEntry(documents(kind).values(), keyOf, after);
      if (!next) break;
      found.push(structuredClone(next.document));
      after = next.key;
    }
    return found;
  };
  return {
    readCurrent: async (kind, ids) => {
      const found = await readEach(kind, ids.slice(0, readAtOnce), (document) => currentOf(kind, document));
      return { documents: found, unreadable: [], remaining: ids.slice(readAtOnce) };
    },
    readEntities: (wanted) =>
      readKinds(wanted, (kind, document) => referencedOf(document, referencedFields(kind))),
    readRevisions: (wanted) => readKinds(wanted, (_kind, { revision }) => revision),
    readFirstChildren: (kind, by, parents) => {
      const read: ReadChildren = async (filter, order, limit) => {
        const ids = wantedValues(filter, `state.${by.parentField}`);
        const orgIds = wantedValues(filter, 'orgId');
        const keyOf = (document: StoredDocument) => {
          const parentId = idIn(document.state, by.parentField);
          const isWanted = orgIds.includes(document.orgId ?? '') && ids.includes(parentId);
          if (document.byCreated === undefined || !isWanted) return null;
          return order ? `${parentId} ${document.orgId} ${document.byCreated}` : writeNumberOf(document);
        };
        const found = await scan(kind, keyOf, limit, `children of ${ids.join()}`);
        return found.map((document) => ({
          ...referencedOf(document, embeddedFields(kind)),
          ...pick(document, ['byCreated']),
        }));
      };
      return readFirstChildren(read, by, parents);
    },
    write: async (kind, writes) => {
      const conflicted = new Map<string, string | null>();
      const logged: LoggedWrite[] = [];
      const pauseInBulk = async (label: string) => {
        await pause(label);
        if (logged.some(({ isRolledBack }) => isRolledBack)) throw new NoReply();
      };
      for (const write of writes) {
        const { _id } = write.document;
        await pauseInBulk(`write ${kind} ${_id}`);
        const stored = documents(kind).get(_id);
        if (write.op === 'join' && !stored) {
          // A join leaves out the state: the store removes the fragment that its upsert has inserted.
          conflicted.set(_id, null);
        } else if (applies(stored, write)) {
          logged.push(logWrite(oplog, documents(kind), _id));
          save(kind, written(stored, write));
        } else {
          conflicted.set(_id, `${kind} ${_id}`);
        }
      }
      if (writes.length > 0) await pauseInBulk(`acknowledge ${kind}`);
      const last = logged.at(-1);
      if (last) confirm(oplog, last);
      return { conflicted, refused: new Map() };
    },
    findDependents: async (kind, refs) => {
      const keyOf = (document: StoredDocument) =>
        refs.some((ref) => document.refs?.includes(ref)) ? document._id : null;
      const found = await scan(kind, keyOf, pageSize + 1, `dependents in ${kind}`);
      return found.length > pageSize ? null : found.map(({ _id }) => _id);
    },
    findDependentsPage: async (kind, ref, after) => {
      const keyOf = (document: StoredDocument) =>
        document._id > after && document.refs?.includes(ref) ? document._id : null;
      const found = await scan(kind, keyOf, pageSize, `dependents in ${kind} after '${after}'`);
      const ids = found.map(({ _id }) => _id);
      return { ids, next: ids.length < pageSize ? null : (ids.at(-1) ?? null) };
    },
    saveFanOutCursor: async (kind, { id, version, tombstonePosition, isDeleted }, cursor) => {
      await pause(`save the fan-out cursor of ${kind} ${id}`);
      const document = documents(kind).get(id);
      if (document?.version !== version) return;
      if ((document.deletedAt !== undefined) !== isDeleted) return;
      if (document.tombstonePosition?.offset !== tombstonePosition?.offset) return;
      if (document.tombstonePosition?.partition !== tombstonePosition?.partition) return;
      const { fanOutCursor: _fanOutCursor, ...remaining } = document;
      confirm(oplog, logWrite(oplog, documents(kind), id));
      save(kind, cursor ? { ...remaining, fanOutCursor: { ...cursor } } : remaining);
    },
    readEnvelopes: (kind, ids) =>
      readEach(kind, ids, (document) => ({ ...envelopeOf(document), ...stateOf(document, ['id']) })),
  };
}

type Entry = { key: string; document: StoredDocument };

/** The entry of an index with the lowest key after another; null at the end. No document is in it whose key is null. */
function nextEntry(
  documents: Iterable<StoredDocument>,
  keyOf: (document: StoredDocument) => string | null,
  after: string,
): Entry | null {
  let next: Entry | null = null;
  for (const document of documents) {
    const key = keyOf(document);
    if (key === null || key <= after) continue;
    if (next === null || key < next.key) next = { key, document };
  }
  return next;
}

/** The values of a field that a filter accepts: one value, or those of `$in`. */
function wantedValues(filter: object, field: string): string[] {
  const wanted = (filter as Record<string, { $in: string[] } | string>)[field];
  if (wanted === undefined) throw new Error(`the filter has no ${field}`);
  return typeof wanted === 'string' ? [wanted] : wanted.$in;
}

/** Reads whole documents for an operator's repair, some at a time, each at its own step. */
export const readWhole =
  (data: Data, pause: (label: string) => Promise<void>): VerifyDeps['readDocuments'] =>
  async (kind, ids) => {
    const documents: StoredDocument[] = [];
    for (const id of ids.slice(0, readAtOnce)) {
      await pause(`read whole ${kind} ${id}`);
      const found = data.get(kind)?.get(id);
      if (found) documents.push(structuredClone(found));
    }
    return { documents, remaining: ids.slice(readAtOnce) };
  };

/** Without an index, the store returns documents in the order of their last write. */
const writeNumbers = new WeakMap<StoredDocument, string>();
let lastWriteNumber = 0;
const writeNumberOf = (document: StoredDocument): string => writeNumbers.get(document) ?? '';

const entityFields = ['_id', 'orgId', 'revision', 'deletedAt'] as const;
const envelopeFields = [
  ...entityFields,
  'version',
  'position',
  'tombstonePosition',
  'deletedByEvent',
  'expiresAt',
  'dataRetentionDays',
] as const;

/** The object with only these of its fields. */
function pick<T extends object, F extends keyof T>(of: T, fields: readonly F[]): Pick<T, F> {
  const picked: Partial<T> = {};
  for (const name of fields) {
    if (of[name] !== undefined) picked[name] = of[name];
  }
  return picked as Pick<T, F>;
}

const stateOf = ({ state }: StoredDocument, fields: string[]) => state && { state: pick(state, fields) };

export const envelopeOf = (document: StoredDocument) => pick(document, envelopeFields);

const currentOf = (kind: Kind, document: StoredDocument): CurrentDocument => ({
  ...pick(document, [...envelopeFields, 'refs', 'orphanedAt', 'fanOutCursor']),
  ...stateOf(document, embeddedFields(kind)),
});

const referencedOf = (document: StoredDocument, fields: string[]): ReferencedEntity => ({
  ...pick(document, entityFields),
  ...stateOf(document, fields),
});

/** A guard of null admits only a new document. A guarded write inserts a document that is gone. */
function applies(stored: StoredDocument | undefined, { guard }: Write): boolean {
  if (stored === undefined) return true;
  return guard !== null && stored.revision === guard;
}

function written(stored: StoredDocument | undefined, { op, document }: Write): StoredDocument {
  const copy = structuredClone(document) as StoredDocument;
  if (op === 'put' || !stored) return copy;
  const { pending: _pending, orphanedAt: _orphanedAt, ...remaining } = stored;
  return { ...remaining, ...copy };
}
