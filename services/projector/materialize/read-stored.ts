import type { Envelope, Kind } from '../../../shared/documents/document.ts';
import { isAfter } from './evolve.ts';
import type { Current, Store, UnownedTombstone, Write } from './store.ts';

/** Documents of one kind, and the organizations that they are looked for in. */
export type Wanted = { ids: string[]; orgIds: string[] };

/** The organizations of changes or documents, each once. */
export const organizationsOf = (named: { orgId: string | null }[]): string[] => [
  ...new Set(named.flatMap(({ orgId }) => orgId ?? [])),
];

export type Stored = {
  documents: Map<string, Current>;
  unowned: Map<string, UnownedTombstone>;
  /** Documents that did not fit into bounded memory. The caller reads them later. */
  remaining: Set<string>;
};

/** Reads documents of the named organizations alone. */
export async function readDocuments(store: Store, kind: Kind, { ids, orgIds }: Wanted): Promise<Stored> {
  const read = await store.readCurrent(kind, ids, orgIds);
  return { documents: byId(read.documents), unowned: new Map(), remaining: new Set(read.remaining) };
}

/**
 * Reads the documents and unowned tombstones of entities that changes are about. A change may name the wrong organization,
 * or none, so an entity that is not found is looked for in every organization.
 */
export async function readStored(store: Store, kind: Kind, wanted: Wanted): Promise<Stored> {
  const [{ documents, remaining }, tombstones] = await Promise.all([
    readDocuments(store, kind, wanted),
    store.readUnownedTombstones(kind, wanted.ids),
  ]);
  const unknown = wanted.ids.filter((id) => !documents.has(id) && !remaining.has(id));
  const envelopes = unknown.length > 0 ? await store.readEnvelopes(kind, unknown) : [];
  if (envelopes.length > 0) {
    const ids = envelopes.map(({ _id }) => _id);
    const others = await readDocuments(store, kind, { ids, orgIds: organizationsOf(envelopes) });
    for (const [id, document] of others.documents) documents.set(id, document);
    for (const id of others.remaining) remaining.add(id);
  }
  return { documents, unowned: byId(tombstones), remaining };
}

/** A document that was written, and the one that it was built on. */
export type Applied = { document: Write['document']; before: Current | undefined };

/**
 * Rereads after writes. Returns the ids of new documents whose unowned tombstone another worker has written meanwhile, and of
 * unowned tombstones whose entity another worker has written: Invariant 19 in docs/internals/consistency.md.
 */
export async function readMissed(store: Store, kind: Kind, applied: Applied[]): Promise<string[]> {
  const { unowned = [], inserted = [] } = Object.groupBy(applied, ({ document, before }) => {
    if (document.orgId === null) return 'unowned';
    // MongoDB may have removed an expiring document before the write, which then inserted it again.
    return before === undefined || before.expiresAt ? 'inserted' : 'replaced';
  });
  const idsOf = (written: Applied[]) => written.map(({ document }) => document._id);
  const [tombstones, envelopes] = await Promise.all([
    inserted.length > 0 ? store.readUnownedTombstones(kind, idsOf(inserted)) : [],
    unowned.length > 0 ? store.readEnvelopes(kind, idsOf(unowned)) : [],
  ]);
  const known = new Map(inserted.map(({ document }) => [document._id, document.tombstonePosition]));
  const missed = tombstones.filter(({ _id, tombstonePosition }) => {
    const position = known.get(_id);
    return position === undefined || isAfter(tombstonePosition, position);
  });
  return [...missed, ...envelopes].map(({ _id }) => _id);
}

/** Of the state, its id alone. */
type StoredEntity = Envelope & Pick<Current, 'state'>;

export type EntityReader = Pick<Store, 'readEnvelopes' | 'readUnownedTombstones'>;

/** Entities by id, of any organization: their envelopes, or the unowned tombstone if nothing else is stored. */
export async function readInAnyOrganization(
  store: EntityReader,
  kind: Kind,
  ids: string[],
): Promise<StoredEntity[]> {
  const [stored, unowned] = await Promise.all([
    store.readEnvelopes(kind, ids),
    store.readUnownedTombstones(kind, ids),
  ]);
  const isStored = new Set(stored.map(({ _id }) => _id));
  return [...stored, ...unowned.filter(({ _id }) => !isStored.has(_id))];
}

const byId = <T extends { _id: string }>(documents: T[]): Map<string, T> =>
  new Map(documents.map((document) => [document._id, document]));
