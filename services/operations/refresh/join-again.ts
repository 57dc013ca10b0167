import { type EntityState, type Kind, resources } from '../../../shared/documents/resources.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import {
  idsInState,
  join,
  type Joined,
  type Joining,
  readReferences,
  type References,
} from '../../projector/materialize/join.ts';
import type { Store } from '../../projector/materialize/store.ts';
import type { ReadDocument } from '../rebuild/differences.ts';
import { readState } from './stored-state.ts';

/** A stored document, and the join of its whole state with the entities that are stored now. */
export type FreshJoin = {
  stored: ReadDocument;
  /** The ids that its state names over each edge of this release, which its `refs` may lack. */
  joining: Joining;
  fresh: Joined;
  sortKeys: Pick<ReadDocument, 'byCreated' | 'byUpdated'>;
};

export type FreshJoins = {
  joins: FreshJoin[];
  /** Documents with a field that an operator's edit has broken. Deleted and purged ones are in no list. */
  broken: { stored: ReadDocument; field: string }[];
  /** Documents whose children did not fit into this read. */
  remaining: ReadDocument[];
  /** The entities that the documents are joined from. */
  references: References;
};

/** Joins stored documents of one kind again, from their whole states. Writes nothing. */
export async function joinAgain<K extends Kind>(
  store: Store,
  kind: K,
  documents: ReadDocument[],
): Promise<FreshJoins> {
  const joinable: Omit<FreshJoin, 'fresh'>[] = [];
  const broken: FreshJoins['broken'] = [];
  for (const stored of documents) {
    if (stored.unreadable !== undefined) broken.push({ stored, field: stored.unreadable });
    if (stored.unreadable !== undefined || stored.state === undefined) continue;
    const read = readState(kind, stored.state);
    if ('broken' in read) broken.push({ stored, field: read.broken });
    else joinable.push(joinableOf(kind, stored, read.state));
  }
  const joinings = joinable.map(({ joining }) => joining);
  const { references, remaining } = await readReferences(store, kind, joinings);
  const isReady = ({ stored }: { stored: ReadDocument }) => !remaining.has(stored._id);
  const joins: FreshJoin[] = [];
  for (const one of joinable.filter(isReady))
    try {
      joins.push({ ...one, fresh: join(kind, one.joining, references) });
    } catch (error) {
      if (!isCodeError(error)) throw error;
      broken.push({ stored: one.stored, field: 'references' });
    }
  return {
    joins,
    broken,
    remaining: joinable.flatMap((one) => (isReady(one) ? [] : [one.stored])),
    references,
  };
}

const joinableOf = <K extends Kind>(kind: K, stored: ReadDocument, state: EntityState[K]) => ({
  stored,
  joining: { id: stored._id, orgId: stored.orgId ?? '', ids: idsInState(kind, state) },
  sortKeys: resources[kind].sortKeys(state),
});
