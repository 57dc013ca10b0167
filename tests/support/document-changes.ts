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
  const changes: DocumentChanges = { gained: [], changed: [] };
  for (const name of new Set([...Object.keys(former), ...Object.keys(present)])) {
    const fieldPath = path === '' ? name : `${path}.${name}`;
    if (!(name in former)) changes.gained.push(fieldPath);
    else if (!(name in present)) changes.changed.push(fieldPath);
    else add(changes, documentChanges(former[name], present[name], fieldPath));
  }
  return changes;
}

function listChanges(former: unknown[], present: unknown[], path: string): DocumentChanges {
  const isReferences = path === 'refs' || path.endsWith('.refs');
  if (isReferences) {
    const hasAll = former.every((ref) => present.includes(ref));
    return hasAll ? { gained: [path], changed: [] } : { gained: [], changed: [path] };
  }
  if (former.length !== present.length) return { gained: [], changed: [path] };
  const changes: DocumentChanges = { gained: [], changed: [] };
  for (const [index, element] of former.entries())
    add(changes, documentChanges(element, present[index], `${path}[${index}]`));
  return changes;
}

function add(changes: DocumentChanges, inside: DocumentChanges): void {
  changes.gained.push(...inside.gained);
  changes.changed.push(...inside.changed);
}
