import { LRUCache } from 'lru-cache';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { incomingEdges, referencedFields } from './edges.ts';
import type { ReadEntities } from './join.ts';
import type { ReferencedEntity, Store, StoredDocument } from './store.ts';

/** About how much memory the cached entities of one kind take, in bytes. Seven kinds are named by others. */
const bytesMaxByKind = 2.5 * 1024 * 1024;

/**
 * Referenced entities as this process last read or wrote them. They may be stale, so the caller rechecks their
 * revisions: Invariant 9 in docs/internals/consistency.md.
 */
export type ReferenceCache = {
  read: (store: Store) => ReadEntities;
  /** Caches a document that was just written, if its kind is referred to. */
  put: (kind: Kind, document: StoredDocument) => void;
  forget: (kind: Kind, id: string) => void;
};

/** Each kind has a cache of its own: a message for each of many conversations evicts no contact. */
export function createReferenceCache(bytesMax = bytesMaxByKind): ReferenceCache {
  const newCache = () => new LRUCache<string, ReferencedEntity>({ maxSize: bytesMax, sizeCalculation });
  const caches = Object.fromEntries(kinds.map((kind) => [kind, newCache()])) as {
    [K in Kind]: ReturnType<typeof newCache>;
  };
  return {
    read: (store) => async (kind, ids) => {
      const cached: ReferencedEntity[] = [];
      const missing: string[] = [];
      for (const id of ids) {
        const entity = caches[kind].get(id);
        if (entity) cached.push(entity);
        else missing.push(id);
      }
      if (missing.length === 0) return cached;
      const found = await store.readEntities(kind, missing);
      for (const entity of found) caches[kind].set(entity._id, entity);
      return cached.length === 0 ? found : [...cached, ...found];
    },
    put: (kind, { _id, orgId, revision, deletedAt, state }) => {
      if (incomingEdges(kind).length === 0) return;
      const embedded = state && Object.fromEntries(referencedFields(kind).map((name) => [name, state[name]]));
      caches[kind].set(_id, {
        _id,
        orgId,
        revision,
        ...(deletedAt && { deletedAt }),
        ...(embedded && { state: embedded }),
      });
    },
    forget: (kind, id) => void caches[kind].delete(id),
  };
}

/** Texts take most of the memory; the rest is a few objects. */
function sizeCalculation({ _id, orgId, state }: ReferencedEntity): number {
  let size = 300 + _id.length + (orgId?.length ?? 0);
  for (const name in state) {
    const value = state[name];
    size += typeof value === 'string' ? value.length : 64;
  }
  return size;
}
