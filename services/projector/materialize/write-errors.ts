import { isNativeError } from 'node:util/types';
import { MongoInvalidArgumentError, MongoServerError } from 'mongodb';
import { storeCodes } from '../../../shared/store/error-codes.ts';
import { classifyStoreError } from '../../../shared/store/errors.ts';
import { causeInSqlState } from '../../../shared/store/stand-in-errors.ts';

/**
 * The failure of one write. `refused`: MongoDB will refuse this document again. `taken`: its id is in use, usually
 * because another write came first. `rolled_back`: other writes were in the way, and a retry may succeed. The detail is
 * stored with a dead letter, so it names no id and no values of fields.
 */
export type WriteFailure = { type: 'refused' | 'taken' | 'rolled_back'; detail: string };

/** The place of a failed write: `<database>.<collection>`, and the id of its document. */
export type WritePlace = { namespace: string; id: string };

const duplicateKey = 11_000;

/** Another transaction was in the way (WriteConflict). MongoDB itself retries such a write before it gives up. */
const writeConflict = 112;

/** The index in a message of MongoDB, which names a collation if the index has one, and of stores on PostgreSQL. */
const indexPatterns = [/ index: (.+?)(?: collation: .*)? dup key: /, /: Index '(.+)'$/];

/** Returns the index that a message names. The driver's bulk writes pass on the message, but not its `keyPattern`. */
const indexIn = (message: string): string | null => {
  for (const pattern of indexPatterns) {
    const index = pattern.exec(message)?.[1];
    if (index) return index;
  }
  return null;
};

/** The failure that an error code means; null for an error that is not about the document. */
export function failureOf({ namespace }: WritePlace, code: number, message: string): WriteFailure | null {
  const failure = (type: WriteFailure['type'], why: string): WriteFailure => ({
    type,
    detail: `${namespace}: ${why} (code ${code})`,
  });
  if (code === writeConflict) return failure('rolled_back', 'other writes are in the way');
  if (code === duplicateKey) {
    const index = indexIn(message);
    if (index !== null && index !== '_id_')
      return failure('refused', `another document has the same key in the unique index ${index}`);
    return failure('taken', `its key is taken in the index ${index ?? 'that MongoDB does not name'}`);
  }
  const known = storeCodes.get(code);
  if (known?.errorClass === 'refuses-document') return failure('refused', known.text);
  const cause = causeInSqlState(code);
  if (cause === null) return null;
  return cause === 'conflict'
    ? failure('rolled_back', 'other writes are in the way')
    : failure('refused', 'a value is refused, or it is beyond a limit of MongoDB');
}

/** The reason why MongoDB, or the driver before it sends anything, refuses a document; null for any other error. */
export function refusalIn(place: WritePlace, error: unknown): string | null {
  // Compared by name, because Node's own code throws another RangeError class under jest.
  const isTooLong =
    isNativeError(error) &&
    error.name === 'RangeError' &&
    classifyStoreError(error).errorClass !== 'no-memory';
  if (isTooLong || error instanceof MongoInvalidArgumentError)
    return `${place.namespace}: the driver refuses the document (${error.name})`;
  if (!(error instanceof MongoServerError)) return null;
  const failure = failureOf(place, Number(error.code), error.message);
  return failure?.type === 'refused' ? failure.detail : null;
}
