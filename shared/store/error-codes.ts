import type { ErrorClass } from './error-classes.ts';

type CodeMeaning = {
  errorClass: ErrorClass;
  /** MongoDB's name of the code, or why it refuses a document, for a dead letter. */
  text: string;
  fix: string | null;
};

const otherIndexFix =
  'An existing index differs from the one that this version declares. If another version filled the database, ' +
  'rebuild the read model into a new one (support-cli rebuild start); otherwise drop ' +
  'the index, and the next start creates it again';

const wrongUserFix =
  'Check the user, the password and the authSource in MONGODB_URL: without authSource, MongoDB looks for the user ' +
  'in the database that the URL names, or else in admin';

const missingRightFix =
  'The user in MONGODB_URL needs its rights on <DATABASE_NAME> and on <DATABASE_NAME>_g1, _g2, …: docs/deploy.md ' +
  '("Users and rights") has the roles';

const notPrimaryFix =
  'MongoDB elects a primary: run the command again. If it stays so, directConnection=true in MONGODB_URL names a member that is not ' +
  'the primary: name all members instead, and replicaSet';

const validatorFix =
  'A validator of the collection refuses the documents of this release: remove it (db.runCommand({ collMod: <collection>, ' +
  'validator: {} }))';

/** MongoDB's code for a member that is not the primary. */
export const notPrimaryCode = 10_107;

const entries = (errorClass: ErrorClass, codes: [code: number, text: string][], fix: string | null = null) =>
  codes.map(([code, text]): [number, CodeMeaning] => [code, { errorClass, text, fix }]);

/**
 * The meaning of MongoDB's codes. Every other code may pass: an operator interrupts a read, a shard moves, the cache is
 * full, a release adds a code.
 */
export const storeCodes: ReadonlyMap<number, CodeMeaning> = new Map([
  // A user that MongoDB does not admit or permit. Old connections refuse a user that was created again.
  ...entries('unauthorized', [[13, 'Unauthorized']], missingRightFix),
  ...entries(
    'unauthorized',
    [
      [18, 'AuthenticationFailed'],
      [8_000, 'of Atlas'],
    ],
    wrongUserFix,
  ),
  // A member that is not, or no longer, the primary: MongoDB elects a new primary, or the client has the wrong member.
  ...entries(
    'refuses-connection',
    [
      [notPrimaryCode, 'NotWritablePrimary'],
      [13_435, 'NotPrimaryNoSecondaryOk'],
      [13_436, 'NotPrimaryOrSecondary'],
      [189, 'PrimarySteppedDown'],
      [11_602, 'InterruptedDueToReplStateChange'],
      [91, 'ShutdownInProgress'],
      [11_600, 'InterruptedAtShutdown'],
      [10_058, 'LegacyNotPrimary'],
    ],
    notPrimaryFix,
  ),
  // A store that sheds load: full queues, limits of its rate, of its connections or of its search servers.
  ...entries(
    'overloaded',
    [433, 449, 450, 462, 463, 473].map((code) => [code, 'it sheds load']),
  ),
  ...entries('too-slow', [
    [50, 'MaxTimeMSExpired'],
    [262, 'ExceededTimeLimit'],
  ]),
  // The limits of MongoDB, and rules of an operator, which apply to every revision of the document.
  ...entries(
    'refuses-document',
    [[121, "it breaks a validation rule of the collection; the server's log has the rule"]],
    validatorFix,
  ),
  ...entries('refuses-document', [
    [2, 'a value is refused'],
    [9, 'it cannot be parsed'],
    [14, 'a value has a type that is refused'],
    [171, 'an index would hold the products of two lists'],
    [10_003, 'the collection is capped, so no document may grow'],
    [10_334, 'it is too large'],
    [11_000, 'its key is taken'],
    [16_755, 'a geographical index cannot hold it'],
    [16_766, 'a hashed index cannot hold a list'],
    [17_262, 'a text index does not know its language'],
    [17_280, 'a key of an index is too long'],
    [17_419, 'an update makes it too large'],
    [17_420, 'an update makes it too large'],
  ]),
  // An index that differs from the stored one.
  ...entries(
    'wrong-command',
    [
      [85, 'IndexOptionsConflict'],
      [86, 'IndexKeySpecsConflict'],
    ],
    otherIndexFix,
  ),
  ...entries('wrong-command', [
    [67, 'CannotCreateIndex'],
    [197, 'InvalidIndexSpecificationOption'],
    // A value, an option or a name that MongoDB does not accept.
    [15, 'Overflow'],
    [17, 'ProtocolError'],
    [20, 'IllegalOperation'],
    [22, 'InvalidBSON'],
    [72, 'InvalidOptions'],
    [73, 'InvalidNamespace'],
    [357, 'InvalidBSONType'],
    [378, 'NonConformantBSON'],
    // A command, a stage or a field that this server does not know.
    [59, 'CommandNotFound'],
    [115, 'CommandNotSupported'],
    [168, 'InvalidPipelineOperator'],
    [238, 'NotImplemented'],
    [322, 'APIVersionError'],
    [323, 'APIStrictError'],
    [324, 'APIDeprecationError'],
    [40_324, 'unrecognized pipeline stage'],
    [40_413, 'IDLDuplicateField'],
    [40_414, 'IDLFailedToParse'],
    [40_415, 'IDLUnknownField'],
    // An update that no document allows.
    [28, 'PathNotViable'],
    [40, 'ConflictingUpdateOperators'],
    [52, 'DollarPrefixedFieldName'],
    [54, 'NotSingleValueField'],
    [56, 'EmptyFieldName'],
    [57, 'DottedFieldName'],
    [66, 'ImmutableField'],
    [510, 'GeoKeyExtractionFailed'],
    [511, 'GeoKeyExtractionFailedTimeseries'],
    // A mechanism that no user of this server has.
    [334, 'MechanismUnavailable'],
  ]),
]);
