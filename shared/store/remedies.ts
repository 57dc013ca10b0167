import { MongoServerError } from 'mongodb';
import { errorChain, errorMessage } from '../runtime/error-message.ts';
import { foreignReplicaSet, isNotPrimary, lacksPreferredMember } from './transient-errors.ts';

/** By MongoDB's codes. */
const remedies = [
  {
    codes: [85, 86],
    remedy:
      'An existing index differs from the one that this version declares. If another version filled the database, ' +
      'rebuild the read model into a new one (support-cli rebuild start); otherwise drop ' +
      'the index, and the next start creates it again',
  },
  {
    codes: [121],
    remedy:
      'A validator of the collection refuses what this release writes: remove it (db.runCommand({ collMod: <collection>, ' +
      'validator: {} }))',
  },
  {
    codes: [18, 8000],
    remedy:
      'Check the user, the password and the authSource in MONGODB_URL: without authSource, MongoDB looks for the user ' +
      'in the database that the URL names, or else in admin',
  },
  {
    codes: [13],
    remedy:
      'The user in MONGODB_URL needs its rights on <DATABASE_NAME> and on <DATABASE_NAME>_g1, _g2, …: docs/deploy.md ' +
      '("Users and rights") has the roles',
  },
];

const otherReplicaSet = (name: string) =>
  `No server that MONGODB_URL names is a member of a replica set ${name}: check replicaSet in MONGODB_URL against the ` +
  'set of rs.status(), or leave it out for a server without a replica set';

const notPrimary =
  'MongoDB elects a primary: run the command again. If it stays so, directConnection=true in MONGODB_URL names a member that is not ' +
  'the primary: name all members instead, and replicaSet';

const noPreferredMember =
  'MongoDB has a primary, but no member that readPreference, readPreferenceTags and maxStalenessSeconds in MONGODB_URL ' +
  'select: start such members, or change these options';

/** The remedy for an error of MongoDB; null if none is known. */
export function storeRemedyFor(error: unknown): string | null {
  const replicaSet = foreignReplicaSet(error);
  if (replicaSet !== null) return otherReplicaSet(replicaSet);
  if (lacksPreferredMember(error)) return noPreferredMember;
  if (errorChain(error).some(isNotPrimary)) return notPrimary;
  const codes = errorChain(error).flatMap((cause) =>
    cause instanceof MongoServerError ? [Number(cause.code)] : [],
  );
  return remedies.find((item) => item.codes.some((code) => codes.includes(code)))?.remedy ?? null;
}

/** The message of an error of MongoDB, with its remedy if one is known. */
export function explainedStoreError(error: unknown): string {
  const message = errorMessage(error);
  const remedy = storeRemedyFor(error);
  return remedy === null || message.includes(remedy) ? message : `${message}. ${remedy}`;
}
