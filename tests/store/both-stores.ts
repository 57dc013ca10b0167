import type { Kind } from '../../shared/documents/document.ts';
import type { Store, StoredDocument, Write } from '../../services/projector/materialize/store.ts';
import { mongoSweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import type { SweepStore } from '../../services/projector/retention/sweep.ts';
import { storedDocument } from '../support/engine.ts';
import { emptyData, envelopeOf, memoryStore } from '../simulation/memory-store.ts';
import { memorySweepStore } from '../simulation/memory-sweep-store.ts';
import { openEngineStore } from './engine-store.ts';

type Opened = {
  store: Store;
  sweepStore: SweepStore;
  /** A stored conversation. */
  find: (id: string) => Promise<StoredDocument | null>;
  close: () => Promise<void>;
};

/** The real stores and the simulation's, of the engine and of the sweep. One suite holds both to the same behaviour. */
export const bothStores: { name: string; isReal: boolean; open: () => Promise<Opened> }[] = [
  {
    name: 'the real store',
    isReal: true,
    open: async () => {
      const { store, database, control, find, close } = await openEngineStore();
      const sweepStore = mongoSweepStore({ database, control, prefix: 'support.', now: () => new Date() });
      return { store, sweepStore, close, find: (id) => find('conversation', id) };
    },
  },
  {
    name: "the simulation's store",
    isReal: false,
    open: async () => {
      const data = emptyData();
      const find = async (id: string) => data.get('conversation')?.get(id) ?? null;
      const sweepStore = memorySweepStore(data, new Set());
      return { store: memoryStore(data), sweepStore, find, close: async () => undefined };
    },
  },
];

export const position = (offset: number) => ({ partition: 0, offset, timestampMs: offset });

export const keyOf = (second: number, id: string) => new Date(second * 1_000).toISOString() + id;

/** A stored conversation of `org_1`, created at a second. */
export const conversation = (
  id: string,
  ticketId: string,
  second = 0,
  changes: Partial<StoredDocument> = {},
): StoredDocument =>
  storedDocument(
    { id, ticketId, role: 'side', status: 'resolved', channelId: 'chan_1', title: 'Broken' },
    { joined: { channel: null }, refs: ['channel:chan_1'], byCreated: keyOf(second, id), ...changes },
  );

/** The tombstone of a document. */
export const tombstoneOf = (document: StoredDocument): StoredDocument => ({
  ...envelopeOf(document),
  deletedAt: new Date(0),
});

export const insert = (document: StoredDocument): Write => ({ op: 'put', document, guard: null });

/** The documents of as many reads as bounded memory needs. */
export async function readAll(store: Store, kind: Kind, ids: string[], onRead = (_size: number) => {}) {
  const documents = [];
  for (let remaining = ids; remaining.length > 0;) {
    const read = await store.readCurrent(kind, remaining);
    documents.push(...read.documents);
    onRead(read.documents.length);
    remaining = read.remaining;
  }
  return documents;
}
