import type { Db } from 'mongodb';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import type { Change, Upsert } from '../events/change.ts';
import { topics } from '../events/topics.ts';
import type { Store, StoredDocument } from '../materialize/store.ts';
import { projections } from '../projections/projections.ts';
import { deadLettersOf, type DeadLetter, type Rejected } from './dead-letters.ts';
import { removeLetters } from './parts.ts';
import { subjectsOf } from './subjects.ts';

/** An entity that is gone, with the time of the record that removed it; `Infinity`: it never comes back. */
export type Gone = { id: string; untilMs: number };

/**
 * Removes the letters about entities that are gone, as far as they are older: a re-drive could not bring
 * anything of them back, and they may hold personal data. Called after the deletion is durable and after
 * letters are kept, so that whichever comes second meets the other.
 */
export async function eraseLetters(control: Db, gone: Gone[]): Promise<number> {
  if (gone.length === 0) return 0;
  const untilMs = new Map<string, number>();
  for (const one of gone) untilMs.set(one.id, Math.max(one.untilMs, untilMs.get(one.id) ?? 0));
  const found = await deadLettersOf(control)
    .find({ subjects: { $in: [...untilMs.keys()] } })
    .project<Pick<DeadLetter, '_id' | 'parts' | 'subjects' | 'timestampMs'>>({
      parts: 1,
      subjects: 1,
      timestampMs: 1,
    })
    .toArray();
  const due = found.filter(({ subjects, timestampMs }) =>
    subjects.some((id) => timestampMs <= (untilMs.get(id) ?? -1)),
  );
  return removeLetters(control, due);
}

/**
 * Of the entities that changes delete or rejected records are about, those that are stored as gone: a deletion
 * that came too late has no effect, here either. One that came again counts up to its repetition.
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
  const ids = new Set([...deletions.keys(), ...rejected.flatMap(({ record }) => subjectsOf(kind, record))]);
  const byKind = Map.groupBy(ids, (id) => kindOf(kind, id));
  const found = await Promise.all(
    [...byKind].map(async ([of, some]) => {
      const gone = (await store.read(of, some)).filter(({ deletedAt }) => deletedAt);
      return gone.map((one) => ({ id: one._id, untilMs: untilMsOf(of, one, deletions.get(one._id) ?? []) }));
    }),
  );
  return found.flat();
}

/** Of what never comes back no record has an effect, whatever its time. */
function untilMsOf(kind: Kind, stored: StoredDocument, deletions: Exclude<Change, Upsert>[]): number {
  if (projections[kind].deletionIsFinal && !stored.lapsed) return Infinity;
  const accepted = deletions.filter((one) => one.op === 'tombstone' || one.orgId === stored.orgId);
  const positions = [stored.at, stored.cut, ...accepted.map(({ position }) => position)];
  return Math.max(...positions.map((position) => position?.timestampMs ?? 0));
}

const kindOf = (kind: Kind, id: string): Kind =>
  kinds.find((one) => topics[one].idPrefix !== '' && id.startsWith(topics[one].idPrefix)) ?? kind;
