import type { Kind } from '../../../shared/documents/resources.ts';

/** Turns the `data` of an event of one schema version into that of the next. Pure. */
type Upcast = (data: Readonly<Record<string, unknown>>) => Record<string, unknown>;

/**
 * For each kind, the functions that turn the data of an older schema version into the newest: the first makes
 * version 2 of version 1, the next one version 3 of 2. The newest version is one more than the number of functions, and
 * shared/documents has its schema. Every older event in the topics passes through here, even in a rebuild.
 */
export type Upcasts = { readonly [K in Kind]?: readonly Upcast[] };

export const upcasts: Upcasts = {};

/** The newest schema version of a kind's events. */
export const newestVersion = (known: Upcasts, kind: Kind): number => (known[kind]?.length ?? 0) + 1;

/**
 * Turns data of a schema version into the newest. A value that is not an object stays as it is: the schema rejects it.
 */
export function upcast(known: Upcasts, kind: Kind, schemaVersion: number, data: unknown): unknown {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return data;
  const upcastsOfKind = known[kind] ?? [];
  let upcasted = data as Record<string, unknown>;
  for (const toNext of upcastsOfKind.slice(schemaVersion - 1)) upcasted = toNext(upcasted);
  return upcasted;
}
