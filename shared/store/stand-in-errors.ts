/*
 * Only this file knows the errors of stores on PostgreSQL that speak MongoDB's protocol, such as FerretDB, on which the
 * tests run. MongoDB never sends these errors.
 */

/**
 * The cause of a failed write, from the SQLSTATE in its code: five characters of six bits each, the first in the lowest
 * bits. `conflict`: rolled back for another transaction (class 40); `refusal`: invalid data (22) or an exceeded limit
 * (54). Null for MongoDB's own codes, which are below the fifth character.
 */
export function causeInSqlState(code: number): 'conflict' | 'refusal' | null {
  if (code < 1 << 24) return null;
  const sqlState = String.fromCharCode(...[0, 6, 12, 18, 24].map((bits) => 48 + ((code >> bits) & 63)));
  if (!/^[0-9A-Z]{5}$/.test(sqlState)) return null;
  if (sqlState.startsWith('40')) return 'conflict';
  return /^(?:22|54)/.test(sqlState) ? 'refusal' : null;
}
