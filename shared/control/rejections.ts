import { errorClass } from '../store/code-errors.ts';

/** Every reason for which a record is dead-lettered, explained to an operator. */
export const rejectionReasons = {
  not_json: 'the value or the data is not JSON in UTF-8',
  bad_envelope: 'a CloudEvents attribute is missing or invalid',
  unknown_type: 'the event type or its version does not belong to this topic',
  key_mismatch: "the record's key is not the entity's id",
  bad_data: 'a field of the state is missing, invalid or beyond its limit',
  wrong_organization: 'the entity belongs to a different organization',
  too_large:
    'the JSON takes more than 16 MB or has more than 250,000 values, or the state takes more than 8 MB in MongoDB',
  refused_by_store: 'MongoDB refuses the document',
  headers_too_large: 'the record has more than 1,000 headers, or more than 256 KB of them',
  undecodable:
    'a batch of records cannot be decompressed or decoded; one dead letter represents all its records',
  projector_error: "the projector's own code failed on the record, which is a bug",
  skipped: 'an operator skipped the record, because it blocked its partition',
} as const;

/**
 * The reason for a dead letter. `detail` names fields and rules of the contract. It has no value and no name that a
 * producer chooses, because the ledger groups records by `detail`.
 */
export type Rejection = { reason: keyof typeof rejectionReasons; detail: string };

/**
 * A step of the work on a record that a bug of the projector may end with an exception:
 *
 * - `parse` reads the event, `join` makes its document, and `engine` is any other step of applying the record
 * - `content`, `identity` and `subjects` build the dead letter: the record's bytes, its organization and entity, and
 *   the ids in it
 */
export type RecordStep = 'parse' | 'join' | 'engine' | 'content' | 'identity' | 'subjects';

/** Called for each step that throws while a dead letter is built. */
export type OnRecordStepFailed = (step: RecordStep, error: unknown) => void;

/** The rejection of a record for which a step throws. Omits the message of the error, which may quote data. */
export const projectorError = (step: RecordStep, error: unknown): Rejection => ({
  reason: 'projector_error',
  detail: `${step}: the code throws ${errorClass(error)}; the projector's log says where`,
});
