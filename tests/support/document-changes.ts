import { isDeepStrictEqual } from 'node:util';

/** The paths of the fields that a document has gained, and the paths of lost or changed fields. */
export type DocumentChanges = { gained: string[]; changed: string[] };

/**
 * Compares a document of the former code with the same document of the present one. If a document only gains fields,
 * each release can read the documents of the other release. `refs` is a set, which gains an element with each reference
 * that resolves.
 */
export function documentChanges(former: unknown, present: unknown, path = ''): DocumentChanges {
  if (isDeepStrictEqual(former, present)) return { gained: [], changed: [] };
  if (Array.isArray(former) && Array.isArray(present)) return listChanges(former, present, path);
  if (isObject(former) && isObject(present)) return objectChanges(former, present, path);
  return { gained: [], changed: [path] };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function objectChanges(former: Record<string, unknown>, present: Record<string, unknown>, path: string) {
  const of = (name: string) => (path ? `${path}.${name}` : name);
  const gained = Object.keys(present).filter((name) => !(name in former));
  const lost = Object.keys(former).filter((name) => !(name in present));
  const kept = Object.keys(former).filter((name) => name in present);
  const inside = kept.map((name) => documentChanges(former[name], present[name], of(name)));
  return {
    gained: [...gained.map(of), ...inside.flatMap((changes) => changes.gained)],
    changed: [...lost.map(of), ...inside.flatMap((changes) => changes.changed)],
  };
}

function listChanges(former: unknown[], present: unknown[], path: string): DocumentChanges {
  if (path.split('.').at(-1) === 'refs') {
    const hasAll = former.every((ref) => present.includes(ref));
    return hasAll ? { gained: [path], changed: [] } : { gained: [], changed: [path] };
  }
  if (former.length !== present.length) return { gained: [], changed: [path] };
  const inside = former.map((element, index) =>
    documentChanges(element, present[index], `${path}[${index}]`),
  );
  return {
    gained: inside.flatMap((changes) => changes.gained),
    changed: inside.flatMap((changes) => changes.changed),
  };
}
