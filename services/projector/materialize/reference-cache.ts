import { LRUCache } from 'lru-cache';
import type { Kind } from '../../../shared/documents/document.ts';
import { incomingEdges, shownFields } from './edges.ts';
import type { ReadReferenced } from './join.ts';
import type { ReferencedEntity, Store, StoredDocument } from './store.ts';

/** About how much memory the remembered entities take, in bytes. */
const cacheBytesMax = 8 * 1024 * 1024;

/** Referenced entities as this process last saw them. They may be stale: whoever uses one rechecks its revision. */
export type ReferenceCache = {
  read: (store: Store) => ReadReferenced;
  /** Remembers what was just written, of the kinds that documents refer to. */
  put: (kind: Kind, document: StoredDocument) => void;
  forget: (kind: Kind, id: string) => void;
};

export function createReferenceCache(bytesMax = cacheBytesMax): ReferenceCache {
  const cache = new LRUCache<string, ReferencedEntity>({ maxSize: bytesMax, sizeCalculation: bytesHeld });
  const keyOf = (kind: Kind, id: string) => `${kind}:${id}`;
  return {
    read: (store) => async (kind, ids) => {
      const known: ReferencedEntity[] = [];
      const unknown: string[] = [];
      for (const id of ids) {
        const entity = cache.get(keyOf(kind, id));
        if (entity) known.push(entity);
        else unknown.push(id);
      }
      if (unknown.length === 0) return known;
      const found = await store.readReferenced(kind, unknown);
      for (const entity of found) cache.set(keyOf(kind, entity._id), entity);
      return known.length === 0 ? found : [...known, ...found];
    },
    put: (kind, { _id, orgId, revision, deletedAt, state }) => {
      if (incomingEdges(kind).length === 0) return;
      const fields = state as Record<string, unknown> | undefined;
      const shown = fields && Object.fromEntries(shownFields(kind).map((name) => [name, fields[name]]));
      cache.set(keyOf(kind, _id), {
        ...{ _id, orgId, revision },
        ...(deletedAt && { deletedAt }),
        ...(shown && { state: shown }),
      });
    },
    forget: (kind, id) => void cache.delete(keyOf(kind, id)),
  };
}

/** Texts take most of an entity; the rest is a few objects. */
function bytesHeld({ _id, orgId, state }: ReferencedEntity, key: string): number {
  const texts = Object.values(state ?? {}).map((value) => (typeof value === 'string' ? value.length : 64));
  return (
    400 + key.length + _id.length + (orgId?.length ?? 0) + texts.reduce((sum, length) => sum + length, 0)
  );
}
