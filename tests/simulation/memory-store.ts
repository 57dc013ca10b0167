import { kinds, type Kind } from '../../shared/documents/document.ts';
import { shownFields } from '../../services/projector/materialize/edges.ts';
import {
  readFirstChildren,
  type ReadChildren,
} from '../../services/projector/materialize/mongo-first-children.ts';
import type {
  Current,
  ReferencedEntity,
  Store,
  StoredDocument,
  Write,
} from '../../services/projector/materialize/store.ts';

export type Data = Map<Kind, Map<string, StoredDocument>>;

export const emptyData = (): Data => new Map(kinds.map((kind) => [kind, new Map<string, StoredDocument>()]));

/** Dependents in a page: one, so that a fan-out saves its cursor at every step. */
const pageSize = 1;
/** The maximum number of documents that one read returns. */
const readAtOnce = 2;

/**
 * The engine's store in memory, as difficult as a real one. A read of several documents takes several steps, between
 * which others write; a bulk write takes one step for each document. Each step waits for `pause`, and so does the
 * acknowledgement of a write. `tests/store` holds it to the real store's behaviour.
 */
export function memoryStore(
  data: Data,
  pause: (label: string) => Promise<void> = async () => undefined,
): Store {
  const of = (kind: Kind) => data.get(kind) ?? new Map<string, StoredDocument>();
  const keep = (kind: Kind, document: StoredDocument) => {
    places.set(document, String((lastPlace += 1)).padStart(12, '0'));
    of(kind).set(document._id, document);
  };
  const nameIn = (document: StoredDocument, field: string) =>
    (document.state as Record<string, string> | undefined)?.[field] ?? '';
  /** Reads document by document, each as it is at its own step. */
  const readEach = async <T>(kind: Kind, ids: string[], pick: (document: StoredDocument) => T) => {
    const found: T[] = [];
    for (const id of new Set(ids)) {
      await pause(`read ${kind} ${id}`);
      const document = of(kind).get(id);
      if (document) found.push(structuredClone(pick(document)));
    }
    return found;
  };
  /** Scans an index: reads the next key after the last one, despite writes in between. */
  const scan = async (
    kind: Kind,
    keyOf: (document: StoredDocument) => string | null,
    limit: number,
    label: string,
  ) => {
    const found: StoredDocument[] = [];
    for (let after = ''; found.length < limit;) {
      await pause(label);
      const next = [...of(kind).values()]
        .map((document) => ({ document, key: keyOf(document) }))
        .filter(
          (one): one is { document: StoredDocument; key: string } => one.key !== null && one.key > after,
        )
        .sort((a, b) => (a.key < b.key ? -1 : 1))[0];
      if (!next) break;
      found.push(structuredClone(next.document));
      after = next.key;
    }
    return found;
  };
  return {
    readCurrent: async (kind, ids) => {
      const found = await readEach(kind, ids.slice(0, readAtOnce), (one) => currentOf(kind, one));
      return { documents: found, remaining: ids.slice(readAtOnce) };
    },
    readReferenced: (kind, ids) => readEach(kind, ids, (one) => referredOf(kind, one)),
    readRevisions: async (kind, ids) => {
      const found = await readEach(kind, ids, ({ _id, revision }) => [_id, revision] as const);
      return new Map(found);
    },
    readFirstChildren: (kind, by, parents) => {
      const read: ReadChildren = async (filter, order, limit) => {
        const among = (field: string) => {
          const wanted = (filter as Record<string, { $in: string[] } | string>)[field] ?? '';
          return typeof wanted === 'string' ? [wanted] : wanted.$in;
        };
        const [ids, orgIds] = [among(`state.${by.parent}`), among('orgId')];
        const keyOf = (one: StoredDocument) =>
          one.byCreated !== undefined &&
          orgIds.includes(one.orgId ?? '') &&
          ids.includes(nameIn(one, by.parent))
            ? order
              ? `${nameIn(one, by.parent)} ${one.orgId} ${one.byCreated}`
              : placeOf(one)
            : null;
        const found = await scan(kind, keyOf, limit, `children of ${ids.join()}`);
        return found.map((one) => ({
          ...referredOf(kind, one),
          ...(one.byCreated !== undefined && { byCreated: one.byCreated }),
        }));
      };
      return readFirstChildren(read, by, parents);
    },
    write: async (kind, writes) => {
      const conflicted = new Set<string>();
      for (const write of writes) {
        await pause(`write ${kind} ${write.document._id}`);
        if (!applies(of(kind).get(write.document._id), write)) conflicted.add(write.document._id);
        else keep(kind, written(of(kind).get(write.document._id), write));
      }
      if (writes.length > 0) await pause(`acknowledge ${kind}`);
      return { conflicted, refused: new Map() };
    },
    findDependents: async (kind, orgIds, refs) => {
      const keyOf = (one: StoredDocument) =>
        orgIds.includes(one.orgId ?? '') && refs.some((ref) => one.refs?.includes(ref)) ? one._id : null;
      const found = await scan(kind, keyOf, pageSize + 1, `dependents in ${kind}`);
      return found.length > pageSize ? null : found.map(({ _id }) => _id);
    },
    pageOfDependents: async (kind, orgId, ref, after) => {
      const keyOf = (one: StoredDocument) =>
        one._id > after && one.orgId === orgId && one.refs?.includes(ref) ? one._id : null;
      const found = await scan(kind, keyOf, pageSize, `dependents in ${kind} after '${after}'`);
      const ids = found.map(({ _id }) => _id);
      return { ids, next: ids.length < pageSize ? null : (ids.at(-1) ?? null) };
    },
    saveFanOutCursor: async (kind, { id, version, isDeleted }, cursor) => {
      await pause(`save the fan-out cursor of ${kind} ${id}`);
      const document = of(kind).get(id);
      if (document?.version !== version || (document.deletedAt !== undefined) !== isDeleted) return;
      const { fanOutCursor: _fanOutCursor, ...remaining } = document;
      keep(kind, cursor ? { ...remaining, fanOutCursor: { ...cursor } } : remaining);
    },
    markNotRefreshed: async (kind, { id, revision }, when) => {
      const document = of(kind).get(id);
      if (document?.revision === revision) keep(kind, { ...document, notRefreshedAt: when });
    },
    readEnvelopes: (kind, ids) =>
      readEach(kind, ids, (one) => ({ ...envelopeOf(one), ...pick(one.state, ['id']) })),
  };
}

/** The order of documents on disk: a write moves a document to the end. */
const places = new WeakMap<StoredDocument, string>();
let lastPlace = 0;
const placeOf = (document: StoredDocument): string => places.get(document) ?? '';

const pick = (state: unknown, fields: string[]) => {
  if (state === undefined) return {};
  const values = state as Record<string, unknown>;
  return {
    state: Object.fromEntries(fields.filter((name) => name in values).map((name) => [name, values[name]])),
  };
};

const envelopeOf = ({
  _id,
  orgId,
  version,
  revision,
  position,
  tombstonePosition,
  deletedAt,
  expiresAt,
}: StoredDocument) => ({
  ...{ _id, orgId, version, revision, position },
  ...(tombstonePosition && { tombstonePosition }),
  ...(deletedAt && { deletedAt }),
  ...(expiresAt && { expiresAt }),
});

const currentOf = (kind: Kind, document: StoredDocument): Current => ({
  ...envelopeOf(document),
  ...pick(document.state, shownFields(kind)),
  ...(document.refs && { refs: document.refs }),
  ...(document.fanOutCursor && { fanOutCursor: document.fanOutCursor }),
});

const referredOf = (
  kind: Kind,
  { _id, orgId, revision, deletedAt, state }: StoredDocument,
): ReferencedEntity => ({
  ...{ _id, orgId, revision },
  ...(deletedAt && { deletedAt }),
  ...pick(state, shownFields(kind)),
});

const applies = (stored: StoredDocument | undefined, { guard }: Write): boolean =>
  guard === null
    ? stored === undefined
    : !stored || (stored.revision === guard.revision && stored.orgId === guard.orgId);

function written(stored: StoredDocument | undefined, { op, document }: Write): StoredDocument {
  const given = structuredClone(document) as StoredDocument;
  if (op === 'put' || !stored) return given;
  const {
    pending: _pending,
    orphanedAt: _orphanedAt,
    notRefreshedAt: _notRefreshedAt,
    ...remaining
  } = stored;
  return { ...remaining, ...given };
}
