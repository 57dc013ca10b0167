import type { Kind } from '../../../shared/documents/resources.ts';

/** Turns the `data` of an event of one schema version into that of the next. Pure. */
type Upcast = (data: Readonly<Record<string, unknown>>) => Record<string, unknown>;

/**
 * For each kind, how the data of its older schema versions becomes that of the newest: the first function turns version
 * 1 into 2, the next 2 into 3. The newest version is one more than there are functions. The schema in shared/documents
 * describes the newest; every older event in the topics passes through here, also in a rebuild.
 */
export type Upcasts = { readonly [K in Kind]?: readonly Upcast[] };

export const upcasts: Upcasts = {};

/** The newest schema version of a kind's events. */
export const newestVersion = (of: Upcasts, kind: Kind): number => (of[kind]?.length ?? 0) + 1;

/** Data of a schema version in the form of the newest. The schema rejects data that is not an object. */
export function upcast(of: Upcasts, kind: Kind, schemaVersion: number, data: unknown): unknown {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return data;
  const later = (of[kind] ?? []).slice(schemaVersion - 1);
  return later.reduce((before, next) => next(before), data as Record<string, unknown>);
}
