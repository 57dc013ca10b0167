import type { Db } from 'mongodb';
import { type EntityState, type Kind, resources } from '../../../shared/documents/resources.ts';
import { guardOf } from '../../projector/materialize/envelope.ts';
import { idsInState } from '../../projector/materialize/join.ts';
import { mongoStore, readWholeDocuments } from '../../projector/materialize/mongo-store.ts';
import { reconcile } from '../../projector/materialize/reconcile.ts';
import type { RoundDeps } from '../../projector/materialize/rounds.ts';
import type { DocumentsPage, JoinedFields, Store, Write } from '../../projector/materialize/store.ts';
import type { PlannedWrite } from '../../projector/materialize/writes.ts';
import {
  type ComparedDocument,
  comparedFields,
  differencesOf,
  markUnreadable,
  type ReadDocument,
} from '../rebuild/differences.ts';
import { readState } from './stored-state.ts';

export type VerifyDeps = Pick<RoundDeps, 'signal' | 'wait' | 'onStalled'> & {
  store: Store;
  /** The store's clock, which marks orphans, and decides which conversations have expired. */
  now: () => Date;
  /** Reads whole documents by id, as far as bounded memory allows. `remaining` are the ids still to be read. */
  readDocuments: (kind: Kind, ids: string[]) => Promise<{ documents: ReadDocument[]; remaining: string[] }>;
};

export type VerifiedDocuments = {
  /** The fields that differ from a fresh join, for each document id. A repair has written these documents. */
  differing: Map<string, string[]>;
  /** The reason why a repair has not written a document; the keys are the ids of the documents. */
  notRepaired: Map<string, string>;
  /** Ids without a living document. */
  absent: string[];
};

/** The verification of some documents of one kind. */
type KindRun<K extends Kind> = {
  kind: K;
  isRepair: boolean;
  now: Date;
  /** The states of the documents, as the schema of their kind reads them. */
  states: Map<string, EntityState[K]>;
  verified: VerifiedDocuments;
};

/**
 * Joins documents of one kind again from their whole states, and reports which differ. A repair writes these, beside
 * the projectors of their generation: Invariant 20 in docs/internals/joins.md. A document that should not exist stays:
 * only its own events, or its owner's events, delete it.
 */
export async function verifyDocuments<K extends Kind>(
  deps: VerifyDeps,
  kind: K,
  ids: string[],
  { isRepair }: { isRepair: boolean },
): Promise<VerifiedDocuments> {
  const verified: VerifiedDocuments = { differing: new Map(), notRepaired: new Map(), absent: [] };
  const run: KindRun<K> = { kind, isRepair, now: deps.now(), states: new Map(), verified };
  const living = new Set<string>();
  const readCurrent = async (_kind: Kind, wantedIds: string[]): Promise<DocumentsPage> => {
    const { documents, remaining } = await deps.readDocuments(kind, wantedIds);
    for (const { _id, state, unreadable } of documents) {
      if (state !== undefined || unreadable !== undefined) living.add(_id);
    }
    return { ...readStates(run, documents), remaining };
  };
  const engine = {
    ...deps,
    store: { ...deps.store, readCurrent },
    // A verification applies no records, so nothing is deleted, and no position matters.
    tombstoneDays: 0,
    isApplied: () => true,
    onNotRefreshed: (_kind: Kind, id: string, reason: string) => verified.notRepaired.set(id, reason),
    idsIn: (_kind: Kind, { _id }: { _id: string }) => idsInState(kind, run.states.get(_id) as EntityState[K]),
    review: (item: PlannedWrite<Kind>, write: Write) => reviewWrite(run, item, write),
  };
  await reconcile(engine, kind, ids, new Map(), new Set(ids));
  verified.absent.push(...ids.filter((id) => !living.has(id)));
  return verified;
}

/** Splits whole documents into documents with a readable state, and documents that an edit has broken. */
function readStates<K extends Kind>({ kind, states, verified }: KindRun<K>, documents: ReadDocument[]) {
  const read: Omit<DocumentsPage, 'remaining'> = { documents: [], unreadable: [] };
  for (const stored of documents) {
    const stateRead = stored.state && readState(kind, stored.state);
    const brokenField = stored.unreadable ?? (stateRead && 'broken' in stateRead ? stateRead.broken : null);
    if (stateRead && 'state' in stateRead) states.set(stored._id, stateRead.state);
    if (brokenField === null) {
      read.documents.push(stored);
    } else {
      read.unreadable.push({ _id: stored._id, field: brokenField, guard: guardOf(stored) });
      verified.differing.set(stored._id, [brokenField]);
    }
  }
  return read;
}

/**
 * Notes whether a document differs from its fresh join. Returns the write of a differing document in a repair; null if
 * nothing is to write, or if a repair must not write the document.
 */
function reviewWrite<K extends Kind>(run: KindRun<K>, item: PlannedWrite<Kind>, write: Write): Write | null {
  const { kind, isRepair, now, states, verified } = run;
  const { id } = item;
  const stored = item.current as ReadDocument;
  const sortKeys = resources[kind].sortKeys(states.get(id) as EntityState[K]);
  const fresh = write.op === 'join' ? withFreshJoin(stored, write.document, sortKeys) : null;
  const fields = differencesOf(kind, { expected: fresh, actual: stored }, now).map(({ field }) => field);
  if (write.op === 'join' && Boolean(stored.orphanedAt) !== Boolean(write.document.orphanedAt))
    fields.push('orphanedAt');
  verified.notRepaired.delete(id);
  // Another worker may have written the document after the previous round.
  if (fields.length === 0) verified.differing.delete(id);
  else verified.differing.set(id, fields);
  if (fields.length === 0 || !isRepair) return null;
  if (write.op !== 'join')
    verified.notRepaired.set(id, 'it should not exist: an event of its own or of its owner deletes it');
  else if (hasExtraSortKey(stored, sortKeys))
    verified.notRepaired.set(id, 'no list should show it: an event of its own rewrites it');
  else return { ...write, document: Object.assign(write.document, sortKeys) };
  return null;
}

type SortKeys = Pick<ReadDocument, 'byCreated' | 'byUpdated'>;

/** The stored document with the fields of its fresh join. */
function withFreshJoin(stored: ReadDocument, { joined, refs, pending }: JoinedFields, sortKeys: SortKeys) {
  const { _id, orgId, version, state } = stored;
  const fresh: ComparedDocument = { _id, orgId, version, ...sortKeys };
  if (state) fresh.state = state;
  if (joined) fresh.joined = joined;
  if (refs) fresh.refs = refs;
  if (pending) fresh.pending = pending;
  return fresh;
}

/** Whether a document has a superfluous sort key. A write of joined fields does not remove sort keys. */
const hasExtraSortKey = (stored: ReadDocument, fresh: SortKeys): boolean =>
  (['byCreated', 'byUpdated'] as const).some(
    (name) => stored[name] !== undefined && fresh[name] === undefined,
  );

/** The dependencies of `verifyDocuments` for the documents of one database. */
export const engineOf = (database: Db, at: Date): VerifyDeps => ({
  store: mongoStore(database),
  now: () => at,
  readDocuments: async (kind, ids) => {
    const { found, remaining } = await readWholeDocuments(database, kind, ids, comparedFields);
    return { documents: found.map(markUnreadable), remaining };
  },
});
