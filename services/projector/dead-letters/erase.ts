import type { Db, FindCursor } from 'mongodb';
import { kinds, type Envelope, type Kind } from '../../../shared/documents/document.ts';
import type { Change, Upsert } from '../events/change.ts';
import { kindOfTopic, topicOf, topics } from '../events/topics.ts';
import { isAfter } from '../materialize/evolve.ts';
import type { Store } from '../materialize/store.ts';
import { projections } from '../projections/projections.ts';
import { deadLettersOf, removeDeadLetters, type DeadLetter, type Rejected } from './collection.ts';
import { subjectsOf } from './subjects.ts';

/** What of a letter tells whether it goes. */
type Weighed = Pick<
  DeadLetter,
  '_id' | 'topic' | 'subjects' | 'versioned' | 'partition' | 'offset' | 'timestampMs'
>;

/** An entity that is gone, and which of the letters about it go with it. */
export type Erasure = { kind: Kind; id: string; covers: (deadLetter: Weighed) => boolean };

type EnvelopeStore = Pick<Store, 'readEnvelopes'>;

/** Letters looked at, and entities asked for, at a time. */
const deadLettersAtOnce = 500;
const idsAtOnce = 1_000;

/**
 * Removes the letters that entities which are gone take along: a re-drive could not bring anything of them
 * back, and they may hold personal data. Called after the deletion is durable and after letters are kept, so
 * that whichever comes second meets the other.
 */
export async function eraseDeadLetters(
  { control, prefix }: { control: Db; prefix: string },
  erasures: Erasure[],
): Promise<number> {
  if (erasures.length === 0) return 0;
  const byId = Map.groupBy(erasures, ({ id }) => id);
  await using about = deadLettersOf(control)
    .find({ subjects: { $in: [...byId.keys()] } })
    .project<Weighed>({
      ...{ topic: 1, subjects: 1, versioned: 1 },
      ...{ partition: 1, offset: 1, timestampMs: 1 },
    });
  // An id that is free in form may be another entity's on another topic.
  const isAbout = (deadLetter: Weighed, { kind }: Erasure) =>
    topics[kind].idPrefix !== '' || deadLetter.topic === topicOf(kind, prefix);
  const isErased = (deadLetter: Weighed) =>
    deadLetter.subjects.some((id) =>
      byId.get(id)?.some((one) => isAbout(deadLetter, one) && one.covers(deadLetter)),
    );
  let removed = 0;
  for await (const deadLetters of pages(about)) {
    const due = deadLetters.filter(isErased).map(({ _id }) => _id);
    if (due.length > 0) removed += await removeDeadLetters(control, due);
  }
  return removed;
}

/**
 * Of the entities that changes delete or rejected records are about, those that are stored as gone: a deletion
 * that came too late has no effect, here either.
 */
export async function erasuresAmong(
  store: EnvelopeStore,
  kind: Kind,
  { changes, rejected }: { changes: Change[]; rejected: Rejected[] },
): Promise<Erasure[]> {
  const deletions = Map.groupBy(
    changes.filter((change) => change.op !== 'upsert'),
    ({ id }) => id,
  );
  const subjects = rejected.flatMap(({ record }) => subjectsOf(kind, record));
  return erasuresOf(store, kind, [...deletions.keys(), ...subjects], deletions);
}

/**
 * Erases again for the letters that were set aside since an instant, a chunk at a time. A worker that has lost
 * its partition may keep a letter when the deletion of what it is about has already been applied by another,
 * and die before it looks.
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
    for (const [topic, some] of Map.groupBy(deadLetters, (deadLetter) => deadLetter.topic)) {
      const kind = kindOfTopic(topic, prefix);
      if (!kind) continue;
      const ids = some.flatMap(({ subjects }) => subjects);
      await eraseDeadLetters({ control, prefix }, await erasuresOf(store, kind, ids, new Map()));
    }
  }
}

export type EraseSinceOptions = {
  store: EnvelopeStore;
  control: Db;
  prefix: string;
  signal: AbortSignal;
};

async function* pages<T>(cursor: FindCursor<T>): AsyncGenerator<T[]> {
  cursor.batchSize(deadLettersAtOnce);
  while (await cursor.hasNext()) yield cursor.readBufferedDocuments(deadLettersAtOnce);
}

async function erasuresOf(
  store: EnvelopeStore,
  kind: Kind,
  ids: string[],
  deletions: Map<string, Exclude<Change, Upsert>[]>,
): Promise<Erasure[]> {
  const erasures: Erasure[] = [];
  for (const [of, some] of Map.groupBy(new Set(ids), (id) => kindOf(kind, id))) {
    for (let start = 0; start < some.length; start += idsAtOnce) {
      const found = await store.readEnvelopes(of, some.slice(start, start + idsAtOnce));
      const deleted = found.filter(({ deletedAt }) => deletedAt);
      erasures.push(...deleted.map((one) => erasureOf(of, one, deletions.get(one._id) ?? [])));
    }
  }
  return erasures;
}

/**
 * A letter goes where its record has no effect any more: of what never comes back, each; of an entity that may
 * come back, what names a version that is past, or stands before its tombstone. Where no version can be read,
 * time has to tell, and a deletion that comes again counts up to then, since what it repeats may have come
 * again before it.
 */
function erasureOf(kind: Kind, stored: Envelope, deletions: Exclude<Change, Upsert>[]): Erasure {
  const { _id: id, version, position, tombstonePosition, orgId } = stored;
  if (projections[kind].deletionIsFinal) return { kind, id, covers: () => true };
  const accepted = deletions.filter((one) => one.op === 'tombstone' || one.orgId === orgId);
  const positions = [position, tombstonePosition, ...accepted.map(({ position }) => position)];
  const untilMs = Math.max(...positions.map((position) => position?.timestampMs ?? 0));
  return {
    kind,
    id,
    covers: (deadLetter) => {
      const { versioned, timestampMs } = deadLetter;
      if (versioned?.id !== id) return timestampMs <= untilMs;
      return (
        versioned.version <= version ||
        (tombstonePosition !== undefined && isAfter(tombstonePosition, deadLetter))
      );
    },
  };
}

const kindOf = (kind: Kind, id: string): Kind =>
  kinds.find((one) => topics[one].idPrefix !== '' && id.startsWith(topics[one].idPrefix)) ?? kind;
