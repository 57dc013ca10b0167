import type { Db } from 'mongodb';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import type { Change, Upsert } from '../events/change.ts';
import { kindOfTopic, topicOf, topics } from '../events/topics.ts';
import { isAfter } from '../materialize/evolve.ts';
import type { Store, StoredDocument } from '../materialize/store.ts';
import { projections } from '../projections/projections.ts';
import { deadLettersOf, type DeadLetter, type Rejected } from './dead-letters.ts';
import { removeLetters } from './parts.ts';
import { subjectsOf } from './subjects.ts';

/** What of a letter tells whether it goes. */
type Weighed = Pick<
  DeadLetter,
  '_id' | 'topic' | 'parts' | 'subjects' | 'versioned' | 'partition' | 'offset' | 'timestampMs'
>;

/** An entity that is gone, and which of the letters about it go with it. */
export type Gone = { kind: Kind; id: string; takes: (letter: Weighed) => boolean };

/**
 * Removes the letters that entities which are gone take along: a re-drive could not bring anything of them
 * back, and they may hold personal data. Called after the deletion is durable and after letters are kept, so
 * that whichever comes second meets the other.
 */
export async function eraseLetters(
  { control, prefix }: { control: Db; prefix: string },
  gone: Gone[],
): Promise<number> {
  if (gone.length === 0) return 0;
  const byId = Map.groupBy(gone, ({ id }) => id);
  const found = await deadLettersOf(control)
    .find({ subjects: { $in: [...byId.keys()] } })
    .project<Weighed>({
      ...{ topic: 1, parts: 1, subjects: 1, versioned: 1 },
      ...{ partition: 1, offset: 1, timestampMs: 1 },
    })
    .toArray();
  // An id that is free in form may be another entity's on another topic.
  const isAbout = (letter: Weighed, { kind }: Gone) =>
    topics[kind].idPrefix !== '' || letter.topic === topicOf(kind, prefix);
  const due = found.filter((letter) =>
    letter.subjects.some((id) => byId.get(id)?.some((one) => isAbout(letter, one) && one.takes(letter))),
  );
  return removeLetters(control, due);
}

/**
 * Of the entities that changes delete or rejected records are about, those that are stored as gone: a deletion
 * that came too late has no effect, here either.
 */
export async function goneAmong(
  store: Store,
  kind: Kind,
  { changes, rejected }: { changes: Change[]; rejected: Rejected[] },
): Promise<Gone[]> {
  const deletions = Map.groupBy(
    changes.filter((change) => change.op !== 'upsert'),
    ({ id }) => id,
  );
  const subjects = rejected.flatMap(({ record }) => subjectsOf(kind, record));
  return goneOf(store, kind, [...deletions.keys(), ...subjects], deletions);
}

/**
 * Erases again for the letters that were set aside since an instant, a chunk at a time. A worker that has lost
 * its partition may keep a letter when the deletion of what it is about has already been applied by another,
 * and die before it looks.
 */
export async function eraseSince(
  { store, control, prefix, checkpoint }: EraseSinceOptions,
  since: Date,
): Promise<void> {
  await using cursor = deadLettersOf(control)
    .find({ lastAt: { $gte: since } })
    .project<Pick<DeadLetter, '_id' | 'topic' | 'subjects'>>({ topic: 1, subjects: 1 })
    .batchSize(lettersAtOnce);
  while (await cursor.hasNext()) {
    checkpoint();
    const letters = cursor.readBufferedDocuments(lettersAtOnce);
    for (const [topic, some] of Map.groupBy(letters, (letter) => letter.topic)) {
      const kind = kindOfTopic(topic, prefix);
      if (!kind) continue;
      const ids = some.flatMap(({ subjects }) => subjects);
      await eraseLetters({ control, prefix }, await goneOf(store, kind, ids, new Map()));
    }
  }
}

export type EraseSinceOptions = { store: Store; control: Db; prefix: string; checkpoint: () => void };

const lettersAtOnce = 500;

async function goneOf(
  store: Store,
  kind: Kind,
  ids: string[],
  deletions: Map<string, Exclude<Change, Upsert>[]>,
): Promise<Gone[]> {
  const byKind = Map.groupBy(new Set(ids), (id) => kindOf(kind, id));
  const found = await Promise.all(
    [...byKind].map(async ([of, some]) => {
      const gone = await readGone(store, of, some);
      return gone.map((one) => goneAs(of, one, deletions.get(one._id) ?? []));
    }),
  );
  return found.flat();
}

/** The living are read too, and may be large: some at a time. */
async function readGone(store: Store, kind: Kind, ids: string[]): Promise<StoredDocument[]> {
  const gone: StoredDocument[] = [];
  for (let open = ids; open.length > 0;) {
    const { documents, rest } = await store.readSome(kind, open);
    gone.push(...documents.filter(({ deletedAt }) => deletedAt));
    open = rest;
  }
  return gone;
}

/**
 * A letter goes where its record has no effect any more: of what never comes back, each; of an entity that may
 * come back, what names a version that is past, or stands before its tombstone. Where no version can be read,
 * time has to tell, and a deletion that comes again counts up to then, since what it repeats may have come
 * again before it. What has lapsed is left to the sweep, which goes by age.
 */
function goneAs(kind: Kind, stored: StoredDocument, deletions: Exclude<Change, Upsert>[]): Gone {
  const { _id: id, version, at, cut, lapsed, orgId } = stored;
  if (projections[kind].deletionIsFinal && !lapsed) return { kind, id, takes: () => true };
  const accepted = deletions.filter((one) => one.op === 'tombstone' || one.orgId === orgId);
  const positions = [at, cut, ...accepted.map(({ position }) => position)];
  const untilMs = Math.max(...positions.map((position) => position?.timestampMs ?? 0));
  return {
    kind,
    id,
    takes: (letter) => {
      const { versioned, timestampMs } = letter;
      if (versioned?.id !== id) return !lapsed && timestampMs <= untilMs;
      return versioned.version <= version || (cut !== undefined && isAfter(cut, letter));
    },
  };
}

const kindOf = (kind: Kind, id: string): Kind =>
  kinds.find((one) => topics[one].idPrefix !== '' && id.startsWith(topics[one].idPrefix)) ?? kind;
