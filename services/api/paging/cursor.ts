import { hash } from 'node:crypto';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { ApiError } from '../http/api-error.ts';

/** A cursor is valid only for this organization and list, in this order and with these filters. */
export type CursorScope = { orgId: string; list: string; sort: string; filters: unknown };

const version = 1;
const instantLength = 24;

const keyShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z[^]/;

/** Whether the value is a sort key: an instant to the millisecond, followed by an id that the store can contain. */
const isSortKey = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= instantLength + idLengthMax &&
  keyShape.test(value) &&
  value.isWellFormed() &&
  !value.includes('\0');

/**
 * Encodes the end of a page. The cursor contains the last sort key, which a rebuild does not change, and a fingerprint
 * of key and scope, which detects a changed cursor. A secret is unnecessary, because a client that forges a cursor
 * still reads only the organization of its API key.
 */
export const encodeCursor = (sortKey: string, scope: CursorScope): string =>
  Buffer.from(JSON.stringify([version, sortKey, fingerprint(sortKey, scope)])).toString('base64url');

/** Returns the sort key in a cursor of this list; throws `invalid_cursor` for any other text. */
export function decodeCursor(cursor: string, scope: CursorScope): string {
  const payload = parse(cursor);
  const key: unknown = Array.isArray(payload) ? payload[1] : null;
  // Compares the whole text, because base64url has several spellings of the same bytes, and only one is a cursor.
  if (isSortKey(key) && encodeCursor(key, scope) === cursor) return key;
  throw new ApiError('invalid_cursor');
}

function parse(cursor: string): unknown {
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
