import { LRUCache } from 'lru-cache';
import type { Kind } from '../../../shared/documents/document.ts';
import { incomingEdges, referencedFields } from './edges.ts';
import type { ReadReferenced } from './join.ts';
import type { ReferencedEntity, Store, StoredDocument } from './store.ts';

/** About how much memory the cached entities take, in bytes. */
const cacheBytesMax = 8 * 1024 * 1024;

/**
 * Referenced entities as this process last read or wrote them. They may be stale, so the caller rechecks their
 * revisions: Invariant 9 in docs/internals/consistency.md.
 */
export type ReferenceCache = {
  read: (store: Store) => ReadReferenced;
  /** Caches a document that was just written, if its kind is referred to. */
  put: (kind: Kind, document: StoredDocument) => void;
  forget: (kind: Kind, id: string) => void;
};

export function createReferenceCache(bytesMax = cacheBytesMax): ReferenceCache {
  const cache = new LRUCache<string, ReferencedEntity>({ maxSize: bytesMax, sizeCalculation: bytesHeld });
  const keyOf = (kind: Kind, id: string) => `${kind}:${id}`;
  return {
    read: (store) => async (kind, ids) => {
      const cached: ReferencedEntity[] = [];
      const missing: string[] = [];
      for (const id of ids) {
        const entity = cache.get(keyOf(kind, id));
        if (entity) cached.push(entity);
        else missing.push(id);
      }
      if (missing.length === 0) return cached;
      const found = await store.readReferenced(kind, missing);
      for (const entity of found) cache.set(keyOf(kind, entity._id), entity);
      return cached.length === 0 ? found : [...cached, ...found];
    },
    put: (kind, { _id, orgId, revision, deletedAt, state }) => {
      if (incomingEdges(kind).length === 0) return;
      const embedded = state && Object.fromEntries(referencedFields(kind).map((name) => [name, state[name]]));
      cache.set(keyOf(kind, _id), {
        ...{ _id, orgId, revision },
        ...(deletedAt && { deletedAt }),
        ...(embedded && { state: embedded }),
      });
    },
    forget: (kind, id) => void cache.delete(keyOf(kind, id)),
  };
}

/** Texts take most of the memory; the rest is a few objects. */
function bytesHeld({ _id, orgId, state }: ReferencedEntity, key: string): number {
  const texts = Object.values(state ?? {}).map((value) => (typeof value === 'string' ? value.length : 64));
  return (
    400 + key.length + _id.length + (orgId?.length ?? 0) + texts.reduce((sum, length) => sum + length, 0)
  );
}
