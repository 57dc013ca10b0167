import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../../shared/documents/resources.ts';
import { nextRevision } from '../../projector/materialize/envelope.ts';
import { recheckReferences, type References } from '../../projector/materialize/join.ts';
import {
  countLosses,
  type RepeatCause,
  type RoundDeps,
  watchRounds,
} from '../../projector/materialize/rounds.ts';
import type { JoinedFields, Store } from '../../projector/materialize/store.ts';
import { joinedFields } from '../../projector/materialize/writes.ts';
import { fieldsOf, type ReadDocument } from '../rebuild/differences.ts';
import { type FreshJoin, joinAgain } from './join-again.ts';

export type RefreshDeps = Pick<RoundDeps, 'signal' | 'wait'> & {
  store: Store;
  /** The store's clock, which sets revisions and marks orphans. */
  now: () => Date;
  /** Whole documents by id, as far as bounded memory allows; `remaining` are the ids still to be read. */
  readDocuments: (kind: Kind, ids: string[]) => Promise<{ documents: ReadDocument[]; remaining: string[] }>;
};

export type Refreshed = {
  /** The fields that were wrong, by the ids of their documents. A dry run has not written them. */
  changed: Map<string, string[]>;
  /** Why wrong documents stay as they are, by their ids. */
  left: Map<string, string>;
  /** Ids without a living document. */
  absent: string[];
};

/** A document that differs from its fresh join, and the fields to write. */
type Differing = FreshJoin & { document: JoinedFields; fields: string[] };

/** The dependencies of a round, and the outcome so far. */
type Round = {
  deps: RefreshDeps;
  kind: Kind;
  isNoRace: (id: string, guard: number) => boolean;
  outcome: Refreshed;
};

/**
 * Joins documents of one kind again from their whole states, and writes those that differ, beside the projectors of
 * their generation: Invariant 20 in docs/internals/joins.md. A dry run writes nothing. A document that should not
 * exist stays: only its own events, or those of its owner, delete it.
 */
export async function refreshDocuments(
  deps: RefreshDeps,
  kind: Kind,
  ids: string[],
  { dryRun }: { dryRun: boolean },
): Promise<Refreshed> {
  const outcome: Refreshed = { changed: new Map(), left: new Map(), absent: [] };
  const round: Round = { deps, kind, isNoRace: countLosses(), outcome };
  let isStalled = false;
  const onStalled = () => {
    isStalled = true;
  };
  const endRound = watchRounds({ ...deps, onStalled }, kind);
  let todo = ids;
  while (todo.length > 0) {
    const read = await deps.readDocuments(kind, todo);
    const { joins, broken, remaining, references } = await joinAgain(deps.store, kind, read.documents);
    for (const { stored, field } of broken) outcome.left.set(stored._id, `${field} cannot be read`);
    outcome.absent.push(...absentIn(todo, read));
    const differing = joins.flatMap((one) => differingIn(deps, one) ?? []);
    for (const { document, fields } of differing) outcome.changed.set(document._id, fields);
    const written = dryRun
      ? { unfinished: [], cause: 'conflict' as const }
      : await write(round, differing, references);
    const unfinished = [...read.remaining, ...remaining.map(({ _id }) => _id), ...written.unfinished];
    await endRound(unfinished, unfinished.length < todo.length, written.cause);
    todo = isStalled ? [] : unfinished;
    if (isStalled)
      for (const id of unfinished) outcome.left.set(id, 'other writes come first again and again');
  }
  return outcome;
}

/** The ids of which a read has found no document with a state. */
function absentIn(ids: string[], read: { documents: ReadDocument[]; remaining: string[] }): string[] {
  const known = new Set(read.remaining);
  for (const { _id, state, unreadable } of read.documents)
    if (state !== undefined || unreadable !== undefined) known.add(_id);
  return ids.filter((id) => !known.has(id));
}

/** The write of a document that differs from its fresh join; null if it is up to date, or its owner is deleted. */
function differingIn({ now }: RefreshDeps, join: FreshJoin): Differing | null {
  const { stored, fresh, sortKeys } = join;
  if (fresh.ownerDeleted) return null;
  const item = { id: stored._id, current: stored, entity: stored };
  const document = joinedFields({ now }, item, fresh, nextRevision(stored.revision, now()));
  Object.assign(document, sortKeys);
  const others = (['refs', 'pending', 'orphanedAt', 'byCreated', 'byUpdated'] as const).filter(
    (name) => !isDeepStrictEqual(stored[name], document[name]),
  );
  const fields = [...fieldsOf('joined', stored.joined, document.joined), ...others];
  return fields.length > 0 ? { ...join, document, fields } : null;
}

/** Writes documents, each guarded by the revision that was read, and rechecks their references like a worker. */
async function write(
  { deps, kind, isNoRace, outcome }: Round,
  differing: Differing[],
  references: References,
) {
  const writes = differing.map(({ document, stored }) => ({
    op: 'join' as const,
    document,
    guard: stored.revision,
  }));
  const { conflicted, refused } = await deps.store.write(kind, writes);
  const unfinished: string[] = [];
  const written: FreshJoin[] = [];
  for (const one of differing) {
    const { _id: id, revision } = one.stored;
    const lost = conflicted.get(id);
    const reason = lost && isNoRace(id, revision) ? lost : refused.get(id);
    if (reason !== undefined) outcome.left.set(id, reason);
    else if (lost === undefined) written.push(one);
    else unfinished.push(id);
    // The next round tells whether a document that another worker has written is still wrong.
    if (reason !== undefined || lost !== undefined) outcome.changed.delete(id);
  }
  const joinings = written.map(({ joining }) => joining);
  const outdated = joinings.length > 0 ? await recheckReferences(deps.store, kind, joinings, references) : [];
  const cause: RepeatCause = outdated.length > 0 ? 'reference' : 'conflict';
  return { unfinished: [...unfinished, ...outdated], cause };
}
