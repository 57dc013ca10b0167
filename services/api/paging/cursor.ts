import { hash } from 'node:crypto';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { ApiError } from '../http/api-error.ts';

/** All that a cursor is bound to: the list and its order and filters. Two lists never share a fingerprint. */
export type CursorScope = { orgId: string; list: string; sort: string; filters: unknown };

const version = 1;
const instantLength = 24;
const lengthMax = 2_048;

const keyShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z[^]/;

/** A sort key: an instant to the millisecond, and an id that the store can hold. */
const isKey = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= instantLength + idLengthMax &&
  keyShape.test(value) &&
  value.isWellFormed() &&
  !value.includes('\0');

/**
 * Where a page ended, as clients see it. It holds the sort key alone, so it outlives rebuilds, and a
 * fingerprint of key and list, so that one that was damaged or altered is noticed. It is no secret: the
 * organization of a query always comes from the API key.
 */
export const encodeCursor = (sortKey: string, scope: CursorScope): string =>
  Buffer.from(JSON.stringify([version, sortKey, fingerprint(sortKey, scope)])).toString('base64url');

/** The sort key in a cursor of this list; fails with `invalid_cursor` for any other text. */
export function decodeCursor(cursor: string, scope: CursorScope): string {
  const payload = parse(cursor);
  const key: unknown = Array.isArray(payload) ? payload[1] : null;
  // Compared as a whole: it must be what was given out for the key, in the one spelling of base64 that was used.
  if (isKey(key) && encodeCursor(key, scope) === cursor) return key;
  throw new ApiError('invalid_cursor');
}

function parse(cursor: string): unknown {
  if (cursor.length > lengthMax || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return null;
  }
}

function fingerprint(sortKey: string, { orgId, list, sort, filters }: CursorScope): string {
  const text = JSON.stringify([sortKey, orgId, list, sort, filters]);
  return hash('sha256', text, 'base64url').slice(0, 16);
}
