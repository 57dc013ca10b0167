import { kinds, type Kind } from '../../shared/documents/document.ts';
import { projections } from '../../services/projector/projections/projections.ts';
import type { Referred, Store, StoredDocument, Write } from '../../services/projector/materialize/store.ts';

export type Data = Map<Kind, Map<string, StoredDocument>>;

export const emptyData = (): Data => new Map(kinds.map((kind) => [kind, new Map<string, StoredDocument>()]));

/** Dependents handed out at a time: one, so that a fan-out notes how far it has come at every step. */
const pageSize = 1;
/** Documents that one read gives, at most. */
const readAtOnce = 2;

/**
 * The engine's store in memory. `pause` is awaited before each step, within a bulk write before each of its
 * writes, and once more before a write is acknowledged. `tests/store` holds it to what the real store does.
 */
export function memoryStore(
  data: Data,
  pause: (label: string) => Promise<void> = async () => undefined,
): Store {
  const of = (kind: Kind) => data.get(kind) ?? new Map<string, StoredDocument>();
  const parentOf = (document: StoredDocument, parent: string) =>
    (document.own as Record<string, string> | undefined)?.[parent];
  const read = async (kind: Kind, ids: string[]) => {
    await pause(`read ${kind} ${ids.join()}`);
    return present(ids.map((id) => of(kind).get(id))).map((document) => {
      const copy = structuredClone(document);
      const { bulky } = projections[kind];
      if (bulky && copy.own) delete (copy.own as Record<string, unknown>)[bulky.field];
      return copy;
    });
  };
  return {
    read,
    readSome: async (kind, ids) => {
      const found = (await read(kind, ids)).slice(0, readAtOnce);
      const isThere = (id: string) => of(kind).has(id);
      const rest = ids.filter((id) => isThere(id) && !found.some(({ _id }) => _id === id));
      return { documents: found, rest };
    },
    refer: async (kind, ids) => {
      await pause(`refer to ${kind} ${ids.join()}`);
      return present([...new Set(ids)].map((id) => of(kind).get(id))).map(referred);
    },
    children: async (kind, parent, orgIds, ids) => {
      await pause(`children of ${ids.join()}`);
      return [...of(kind).values()]
        .filter((one) => orgIds.includes(one.orgId ?? '') && ids.includes(parentOf(one, parent) ?? ''))
        .map(referred);
    },
    firsts: async (kind, parent, orgId, ids) => {
      await pause(`firsts of ${ids.join()}`);
      const firsts = new Map<string, Referred>();
      const kin = [...of(kind).values()].filter((one) => one.orgId === orgId && one.byCreated !== undefined);
      for (const one of kin.sort((a, b) => ((a.byCreated ?? '') < (b.byCreated ?? '') ? -1 : 1))) {
        const id = parentOf(one, parent) ?? '';
        if (ids.includes(id) && !firsts.has(id)) firsts.set(id, cut(kind, referred(one)));
      }
      return firsts;
    },
    write: async (kind, writes) => {
      const lost = new Set<string>();
      for (const write of writes) {
        await pause(`write ${kind} ${write.document._id}`);
        if (!applies(of(kind).get(write.document._id), write)) lost.add(write.document._id);
        else of(kind).set(write.document._id, written(of(kind).get(write.document._id), write));
      }
      if (writes.length > 0) await pause(`acknowledge ${kind}`);
      return lost;
    },
    dependents: async (kind, orgIds, by, after) => {
      await pause(`dependents in ${kind} after '${after}'`);
      const found = [...of(kind).values()].filter(
        (one) =>
          one._id > after &&
          orgIds.includes(one.orgId ?? '') &&
          ('refs' in by
            ? by.refs.some((ref) => one.refs?.includes(ref))
            : by.ids.includes(parentOf(one, by.parent) ?? '')),
      );
      const ids = found.map(({ _id }) => _id).sort();
      const page = ids.slice(0, pageSize);
      return { ids: page, next: page.length < pageSize ? null : (page.at(-1) ?? null) };
    },
    markFanned: async (kind, marks) => {
      if (marks.length > 0) await pause(`mark ${kind} as shown`);
      for (const { id, revision, fanned, reached } of marks) {
        const document = of(kind).get(id);
        if (!document || document.revision !== revision) continue;
        const { reached: _reached, ...rest } = document;
        of(kind).set(id, { ...rest, fanned: { ...fanned }, ...(reached && { reached: { ...reached } }) });
      }
    },
  };
}

const present = <T>(items: (T | undefined)[]): T[] => items.filter((item) => item !== undefined);

const referred = ({ _id, orgId, deletedAt, lapsed, own }: StoredDocument): Referred =>
  structuredClone({
    ...{ _id, orgId },
    ...(deletedAt && { deletedAt }),
    ...(lapsed && { lapsed }),
    ...(own !== undefined && { own }),
  });

function cut(kind: Kind, document: Referred): Referred {
  const { bulky } = projections[kind];
  const own = document.own as Record<string, unknown>;
  const whole = bulky && own[bulky.field];
  if (!bulky || typeof whole !== 'string') return document;
  return { ...document, own: { ...own, [bulky.field]: [...whole].slice(0, bulky.headMax).join('') } };
}

const applies = (stored: StoredDocument | undefined, { guard }: Write): boolean =>
  guard === null
    ? stored === undefined
    : !stored || (stored.revision === guard.revision && stored.orgId === guard.orgId);

function written(stored: StoredDocument | undefined, { op, document }: Write): StoredDocument {
  const given = structuredClone(document);
  if (op === 'put' || !stored) return given;
  const { joined, refs = [], at, cut, pending, keptUntil, revision } = given;
  if (op === 'fence') return { ...stored, revision };
  const { pending: _pending, keptUntil: _keptUntil, ...rest } = stored;
  const flags = { ...(pending && { pending }), ...(keptUntil && { keptUntil }) };
  return { ...rest, joined, refs, at, revision, ...(cut && { cut }), ...flags };
}
