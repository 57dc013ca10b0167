import { type VerifyDeps, verifyDocuments } from '../../services/operations/verify/verify-documents.ts';
import type { Store, StoredDocument } from '../../services/projector/materialize/store.ts';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import type { Random } from '../support/random.ts';
import type { Data } from './memory-store.ts';

/** An edge that an earlier release did not have. Its value is the joined field of the same name. */
export type LaterEdge = { kind: Kind; name: string };

/** Edges that a document can lack and still be served. */
export const laterEdges: LaterEdge[] = [
  { kind: 'ticket', name: 'requester' },
  { kind: 'ticket', name: 'topics' },
  { kind: 'conversation', name: 'contact' },
  { kind: 'conversation', name: 'tags' },
];

/** A store as an earlier release uses it: the documents that it writes lack an edge. */
export const withoutEdge = (store: Store, { kind: of, name }: LaterEdge): Store => ({
  ...store,
  write: (kind, writes) =>
    store.write(
      kind,
      kind === of
        ? writes.map((write) => ({ ...write, document: strip(write.document, name) }) as typeof write)
        : writes,
    ),
});

function strip<T extends Pick<StoredDocument, 'joined' | 'refs'>>(document: T, edge: string): T {
  const stripped = { ...document };
  if (document.joined) {
    const { [edge]: _stripped, ...kept } = document.joined as Record<string, unknown>;
    stripped.joined = kept;
  }
  if (document.refs) stripped.refs = document.refs.filter((ref) => !ref.startsWith(`${edge}:`));
  return stripped;
}

/** Repairs all documents, some at a time, as `support-cli verify --repair` does. */
export async function repairEverything(deps: VerifyDeps, data: Data, random: Random): Promise<void> {
  for (const kind of kinds) {
    const ids = [...(data.get(kind)?.keys() ?? [])];
    while (ids.length > 0)
      await verifyDocuments(deps, kind, ids.splice(0, 1 + random.int(3)), { isRepair: true });
  }
}

/** Verifies some documents of one kind, mostly with repair. An id may belong to no document. */
export async function repairSome(deps: VerifyDeps, data: Data, random: Random): Promise<void> {
  const kind = random.pick([...kinds]);
  const ids = [...(data.get(kind)?.keys() ?? []), 'none'].filter(() => random.chance(0.5));
  await verifyDocuments(deps, kind, ids, { isRepair: !random.chance(0.1) });
}
