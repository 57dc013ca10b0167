import type { Abortable, Db, FindCursor } from 'mongodb';
import { positionOf } from '../../../shared/control/ledger.ts';
import {
  closeDeadLetters,
  purgeDeadLetters,
  readLedgerRecords,
} from '../../../shared/control/ledger-store.ts';
import { type RecordBytes, recordBytesOf } from '../../../shared/control/record-bytes.ts';
import type { Position } from '../../../shared/documents/entity.ts';
import { type Kind, kinds, resources } from '../../../shared/documents/resources.ts';
import { kindOfTopic, topicOf } from '../../../shared/kafka/topics.ts';
import { withCommandLimit } from '../../../shared/store/within-limit.ts';
import { parseRecord } from '../apply/parse-record.ts';
import type { Change, Upsert } from '../events/change.ts';
import { isAfter, isBeforeTombstone } from '../materialize/evolve.ts';
import type { Store, StoredEnvelope } from '../materialize/store.ts';
import { projections } from '../projections/projections.ts';
import { recordOf, type RejectedRecord } from './dead-letter.ts';
import { recheck } from './store-dead-letters.ts';
import { subjectsOf } from './subjects.ts';

/** The part of a dead letter that decides whether it is erased. */
type Erasable = Pick<
  RecordBytes,
  '_id' | 'topic' | 'subjects' | 'versioned' | 'partition' | 'offset' | 'timestampMs'
>;

/** A deleted entity, and which of the dead letters about it are erased with it. */
export type Erasure = { kind: Kind; id: string; covers: (deadLetter: Erasable) => boolean };

export type EraseDeps = {
  control: Db;
  prefix: string;
  /** The generation whose documents show the deletions. */
  generation: number;
  now: () => Date;
};

type Deletion = Exclude<Change, Upsert>;
type Deletions = Map<string, Deletion[]>;

type EnvelopeStore = Pick<Store, 'readEnvelopes'>;

/** The most dead letters and entities that one command reads. */
const deadLettersPerPage = 500;
const idsPerRead = 1_000;

/**
 * Purges the dead letters of deleted entities. They may contain personal data, and a redrive would have no effect. Call
 * it once the deletion and the bytes of the caller's own dead letters are durable. Otherwise a crash could leave such
 * bytes behind: Invariant 14 in docs/internals/retention.md. The ledger names `by` as the cause of the purge.
 *
 * A deletion covers its own dead letter. Another generation may lack that deletion, or may still reject it, so this one
 * only closes the dead letter for itself.
 */
export async function eraseDeadLetters(deps: EraseDeps, erasures: Erasure[], by = 'a deletion') {
  if (erasures.length > 0) await withCommandLimit((limit) => eraseCovered(deps, erasures, by, limit));
}

async function eraseCovered(deps: EraseDeps, erasures: Erasure[], by: string, limit: Abortable) {
  const { control, prefix, generation, now } = deps;
  const byId = Map.groupBy(erasures, ({ id }) => id);
  await using candidates = recordBytesOf(control)
    .find({ subjects: { $in: [...byId.keys()] } }, limit)
    .project<Erasable>({ topic: 1, subjects: 1, versioned: 1, partition: 1, offset: 1, timestampMs: 1 });
  // An id without a prefix may belong to another entity on another topic.
  const isAbout = (deadLetter: Erasable, { kind }: Erasure) =>
    resources[kind].idPrefix !== '' || deadLetter.topic === topicOf(kind, prefix);
  const isErased = (deadLetter: Erasable) => {
    const erasuresOfSubjects = deadLetter.subjects.flatMap((id) => byId.get(id) ?? []);
    return erasuresOfSubjects.some((erasure) => isAbout(deadLetter, erasure) && erasure.covers(deadLetter));
  };
  for await (const deadLetters of pages(candidates)) {
    const ids = deadLetters.map(({ _id }) => _id);
    const ledgerRecords = await readLedgerRecords(control, ids);
    const erasedIds: string[] = [];
    const closedIds: string[] = [];
    for (const deadLetter of deadLetters) {
      const isLost = ledgerRecords.get(deadLetter._id)?.isLost ?? false;
      const position = positionOf({ ...deadLetter, isLost });
      if (!isErased({ ...deadLetter, ...position })) continue;
      if (await mayBeDeletion(deps, deadLetter, limit)) closedIds.push(deadLetter._id);
      else erasedIds.push(deadLetter._id);
    }
    if (erasedIds.length > 0) await purgeDeadLetters(control, erasedIds, { at: now(), by });
    if (closedIds.length > 0) await closeDeadLetters(control, closedIds, generation);
  }
}

/** Whether the record of a dead letter deletes an entity. True if another client has removed its bytes meanwhile. */
async function mayBeDeletion({ control, prefix }: EraseDeps, { _id, topic }: Erasable, limit: Abortable) {
  const kind = kindOfTopic(topic, prefix);
  const bytes = await recordBytesOf(control).findOne({ _id }, limit);
  if (!bytes) return true;
  if (!kind) return false;
  const parsed = parseRecord(kind, recordOf(bytes));
  return 'change' in parsed && parsed.change.op !== 'upsert';
}

/**
 * Finds which dead letters to erase for each entity that a change deletes, and for each deleted entity that a rejected
 * record names. A late deletion spares newer dead letters.
 */
export async function findErasures(
  store: EnvelopeStore,
  kind: Kind,
  { changes, rejected }: { changes: Change[]; rejected: RejectedRecord[] },
): Promise<Erasure[]> {
  const deletions = Map.groupBy(
    changes.filter((change) => change.op !== 'upsert'),
    ({ id }) => id,
  );
  const subjects = rejected.flatMap(({ record }) => subjectsOf(kind, record));
  return findErasuresOf(store, kind, [...deletions.keys(), ...subjects], deletions);
}

/**
 * Called by the sweep. Rechecks the dead letters whose bytes were stored since an instant, page by page, and erases
 * those of deleted entities. This completes the work of two crashes: of a worker that has stored bytes before its own
 * recheck, and of a client that has purged or closed a dead letter before it removed the bytes.
 */
export async function eraseSince(
  { store, signal, onProgress, ...deps }: EraseSinceOptions,
  since: Date,
): Promise<void> {
  await using recent = recordBytesOf(deps.control)
    .find({ storedAt: { $gte: since } })
    .project<Pick<RecordBytes, '_id' | 'topic' | 'subjects' | 'storedAt'>>({
      topic: 1,
      subjects: 1,
      storedAt: 1,
    });
  for await (const deadLetters of pages(recent)) {
    signal.throwIfAborted();
    onProgress();
    await recheck(deps, deadLetters);
    for (const [topic, topicLetters] of Map.groupBy(deadLetters, (deadLetter) => deadLetter.topic)) {
      const kind = kindOfTopic(topic, deps.prefix);
      if (!kind) continue;
      const ids = topicLetters.flatMap(({ subjects }) => subjects);
      const erasures = await findErasuresOf(store, kind, ids, new Map());
      await eraseDeadLetters(deps, erasures);
    }
  }
}

type EraseSinceOptions = EraseDeps & {
  store: EnvelopeStore;
  signal: AbortSignal;
  /** Called before each page. */
  onProgress: () => void;
};

async function* pages<T>(cursor: FindCursor<T>): AsyncGenerator<T[]> {
  cursor.batchSize(deadLettersPerPage);
  while (await cursor.hasNext()) yield cursor.readBufferedDocuments(deadLettersPerPage);
}

async function findErasuresOf(store: EnvelopeStore, kind: Kind, ids: string[], deletions: Deletions) {
  const erasures: Erasure[] = [];
  for (const [idKind, idsOfKind] of Map.groupBy(new Set(ids), (id) => kindOfId(kind, id))) {
    for (let start = 0; start < idsOfKind.length; start += idsPerRead) {
      const envelopes = await store.readEnvelopes(idKind, idsOfKind.slice(start, start + idsPerRead));
      const found = envelopes.map((stored) => erasureOf(idKind, stored, deletions));
      erasures.push(...found.filter((erasure) => erasure !== null));
    }
  }
  return erasures;
}

/** The erasure for an entity; null if it is not deleted. */
function erasureOf(kind: Kind, stored: StoredEnvelope, deletions: Deletions): Erasure | null {
  const { _id: id, orgId, deletedAt } = stored;
  if (projections[kind].deletionIsFinal) return deletedAt ? { kind, id, covers: () => true } : null;
  const accepted = (deletions.get(id) ?? []).filter(
    (deletion) => deletion.op === 'tombstone' || deletion.orgId === orgId,
  );
  return deletedAt || accepted.length > 0 ? revocableErasure(kind, stored, accepted) : null;
}

/**
 * The erasure for a deleted entity that may come back. A dead letter is erased if its record has no effect any more:
 *
 *   without a readable version   it is not later than the latest deletion
 *   with a version               it has a deleted version, or comes before the tombstone
 *
 * If the entity came back since, the result is the same as if each record were applied separately.
 */
function revocableErasure(kind: Kind, stored: StoredEnvelope, deletions: Deletion[]): Erasure {
  const { _id: id, deletedAt, position, tombstonePosition } = stored;
  const versions = deletions.map((deletion) => (deletion.op === 'delete' ? deletion.version : 0));
  if (deletedAt) versions.push(deletedVersion(stored));
  const newestDeletedVersion = Math.max(...versions);
  const deletionPositions: (Position | null | undefined)[] = deletions.map((deletion) => deletion.position);
  if (deletedAt) deletionPositions.push(position, tombstonePosition);
  const latestDeletionMs = Math.max(...deletionPositions.map((known) => known?.timestampMs ?? 0));
  const covers: Erasure['covers'] = (deadLetter) => {
    const { versioned, timestampMs } = deadLetter;
    if (versioned?.id !== id) return timestampMs <= latestDeletionMs;
    const isOfDeletedVersion = versioned.version <= newestDeletedVersion;
    return isOfDeletedVersion || (tombstonePosition !== undefined && isAfter(tombstonePosition, deadLetter));
  };
  return { kind, id, covers };
}

/**
 * The newest version whose records have no effect any more. If only a tombstone has deleted the stored version, a later
 * record of that version brings the entity back.
 */
function deletedVersion(stored: StoredEnvelope): number {
  // Without a position, the records of this version were in a lost log. Any other record of it comes later.
  const isTombstoneAlone = !stored.deletedByEvent && (stored.position === null || isBeforeTombstone(stored));
  return isTombstoneAlone ? stored.version - 1 : stored.version;
}

/** The kind whose prefix an id has; otherwise the given kind. */
function kindOfId(kind: Kind, id: string): Kind {
  for (const candidate of kinds) {
    const { idPrefix } = resources[candidate];
    if (idPrefix !== '' && id.startsWith(idPrefix)) return candidate;
  }
  return kind;
}
