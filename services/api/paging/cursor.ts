import { hash } from 'node:crypto';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { ApiError } from '../http/api-error.ts';

/** A cursor is valid only with these: the organization, the list, its order and its filters. */
export type CursorScope = { orgId: string; list: string; sort: string; filters: unknown };

const version = 1;
const instantLength = 24;

const keyShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z[^]/;

/** Whether the value is a sort key: an instant to the millisecond, followed by an id that the store can contain. */
const isKey = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= instantLength + idLengthMax &&
  keyShape.test(value) &&
  value.isWellFormed() &&
  !value.includes('\0');

/**
 * Encodes where a page ended. The cursor contains the sort key, which survives rebuilds, and a fingerprint of key and
 * scope, which detects a damaged or altered cursor. It needs no secret: the organization of a query always comes from
 * the API key.
 */
export const encodeCursor = (sortKey: string, scope: CursorScope): string =>
  Buffer.from(JSON.stringify([version, sortKey, fingerprint(sortKey, scope)])).toString('base64url');

/** Returns the sort key in a cursor of this list; throws `invalid_cursor` for any other text. */
export function decodeCursor(cursor: string, scope: CursorScope): string {
  const payload = parse(cursor);
  const key: unknown = Array.isArray(payload) ? payload[1] : null;
  // Compares the whole text, because base64 allows several spellings of the same bytes.
  if (isKey(key) && encodeCursor(key, scope) === cursor) return key;
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
