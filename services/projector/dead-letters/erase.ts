import type { Abortable, Db, FindCursor } from 'mongodb';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { withinLimit } from '../../../shared/store/within-limit.ts';
import type { Change } from '../events/change.ts';
import { kindOfTopic, topicOf } from '../../../shared/kafka/topics.ts';
import { isAfter } from '../materialize/evolve.ts';
import type { Store, StoredEnvelope } from '../materialize/store.ts';
import { projections } from '../projections/projections.ts';
import { deadLettersOf, removeDeadLetters, type DeadLetter } from '../../../shared/control/dead-letters.ts';
import type { Rejected } from './dead-letter.ts';
import { subjectsOf } from './subjects.ts';

/** The part of a dead letter that decides whether it is erased. */
type Erasable = Pick<
  DeadLetter,
  '_id' | 'topic' | 'subjects' | 'versioned' | 'partition' | 'offset' | 'timestampMs'
>;

/** A deleted entity, and which of the dead letters about it are erased with it. */
type Erasure = { kind: Kind; id: string; covers: (deadLetter: Erasable) => boolean };

type EraseDeps = { control: Db; prefix: string };

type EnvelopeStore = Pick<Store, 'readEnvelopes'>;

/** Dead letters and entities read at a time. */
const deadLettersPerPage = 500;
const idsPerRead = 1_000;

/**
 * Removes the dead letters of deleted entities: a redrive could restore nothing of them, and they may hold personal data.
 * Callers call it after the deletion and their own dead letters are durable: Invariant 14 in
 * docs/internals/retention.md.
 */
export async function eraseDeadLetters(deps: EraseDeps, erasures: Erasure[]): Promise<void> {
  if (erasures.length > 0) await withinLimit((limit) => eraseCovered(deps, erasures, limit));
}

async function eraseCovered(
  { control, prefix }: EraseDeps,
  erasures: Erasure[],
  limit: Abortable,
): Promise<void> {
  const byId = Map.groupBy(erasures, ({ id }) => id);
  await using candidates = deadLettersOf(control)
    .find({ subjects: { $in: [...byId.keys()] } }, limit)
    .project<Erasable>({ topic: 1, subjects: 1, versioned: 1, partition: 1, offset: 1, timestampMs: 1 });
  // An id without a prefix may belong to another entity on another topic.
  const isAbout = (deadLetter: Erasable, { kind }: Erasure) =>
    resources[kind].idPrefix !== '' || deadLetter.topic === topicOf(kind, prefix);
  const isErased = (deadLetter: Erasable) =>
    deadLetter.subjects.some((id) =>
      byId.get(id)?.some((erasure) => isAbout(deadLetter, erasure) && erasure.covers(deadLetter)),
    );
  for await (const deadLetters of pages(candidates)) {
    const due = deadLetters.filter(isErased).map(({ _id }) => _id);
    if (due.length > 0) await removeDeadLetters(control, due);
  }
}

/** The erasures for the entities that changes delete or rejected records are about. */
export async function erasuresAmong(
  store: EnvelopeStore,
  kind: Kind,
  { changes, rejected }: { changes: Change[]; rejected: Rejected[] },
): Promise<Erasure[]> {
  const deleted = changes.flatMap(({ op, id }) => (op === 'upsert' ? [] : [id]));
  const subjects = rejected.flatMap(({ record }) => subjectsOf(kind, record));
  return erasuresOf(store, kind, [...deleted, ...subjects]);
}

/**
 * Rechecks the dead letters stored since an instant, page by page, and erases each one of a deleted entity. A worker
 * that lost its partition may have stored one and crashed before it looked.
 */
export async function eraseSince(
  { store, control, prefix, signal }: EraseSinceOptions,
  since: Date,
): Promise<void> {
  await using recent = deadLettersOf(control)
    .find({ lastAt: { $gte: since } })
    .project<Pick<DeadLetter, '_id' | 'topic' | 'subjects'>>({ topic: 1, subjects: 1 });
  for await (const deadLetters of pages(recent)) {
    signal.throwIfAborted();
    for (const [topic, ofTopic] of Map.groupBy(deadLetters, (deadLetter) => deadLetter.topic)) {
      const kind = kindOfTopic(topic, prefix);
      if (!kind) continue;
      const ids = ofTopic.flatMap(({ subjects }) => subjects);
      await eraseDeadLetters({ control, prefix }, await erasuresOf(store, kind, ids));
    }
  }
}

type EraseSinceOptions = { store: EnvelopeStore; control: Db; prefix: string; signal: AbortSignal };

async function* pages<T>(cursor: FindCursor<T>): AsyncGenerator<T[]> {
  cursor.batchSize(deadLettersPerPage);
  while (await cursor.hasNext()) yield cursor.readBufferedDocuments(deadLettersPerPage);
}

async function erasuresOf(store: EnvelopeStore, kind: Kind, ids: string[]): Promise<Erasure[]> {
  const erasures: Erasure[] = [];
  for (const [idKind, idsOfKind] of Map.groupBy(new Set(ids), (id) => kindOf(kind, id)))
    for (let start = 0; start < idsOfKind.length; start += idsPerRead) {
      const found = await store.readEnvelopes(idKind, idsOfKind.slice(start, start + idsPerRead));
      erasures.push(...found.flatMap((stored) => erasureOf(idKind, stored) ?? []));
    }
  return erasures;
}

/**
 * A final deletion erases every dead letter about its entity. Any other erases those that its log alone decides: a record
 * of a deleted version or an older one, or before a Kafka tombstone. If no version can be read, the time decides.
 */
function erasureOf(kind: Kind, stored: StoredEnvelope): Erasure | null {
  const { _id: id, tombstonePosition, deletedUpTo } = stored;
  if (projections[kind].deletionIsFinal) return stored.deletedAt ? { kind, id, covers: () => true } : null;
  const untilMs = Math.max(tombstonePosition?.timestampMs ?? 0, deletedUpTo?.timestampMs ?? 0);
  const covers: Erasure['covers'] = (deadLetter) => {
    const { versioned, timestampMs } = deadLetter;
    if (versioned?.id !== id) return timestampMs <= untilMs;
    const isDeleted = versioned.version <= (deletedUpTo?.version ?? 0);
    return isDeleted || (tombstonePosition !== undefined && isAfter(tombstonePosition, deadLetter));
  };
  return tombstonePosition || deletedUpTo ? { kind, id, covers } : null;
}

const kindOf = (kind: Kind, id: string): Kind =>
  kinds.find((other) => resources[other].idPrefix !== '' && id.startsWith(resources[other].idPrefix)) ?? kind;
