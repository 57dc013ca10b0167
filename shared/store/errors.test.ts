import { AssertionError } from 'node:assert';
import { readFileSync } from 'node:fs';
import {
  MongoAPIError,
  MongoBulkWriteError,
  MongoDriverError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoParseError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from 'mongodb';
import { storeCodes } from './error-codes.ts';
import { classifyStoreError, retryPauseMs } from './errors.ts';

/** Instances of the driver's classes, filled as the driver fills them. The states cannot be produced on demand. */
const answered = (code: number, errmsg = 'refused', errorLabels: string[] = []) =>
  new MongoServerError({ ok: 0, code, errmsg, errorLabels });
const bulk = (code: number, message = 'refused') =>
  new MongoBulkWriteError({ code, message, writeErrors: [] }, {
    getWriteErrors: () => [],
    getWriteConcernError: () => undefined,
  } as never);

/** An error of Node's socket, which the driver passes on as it is. */
const ofNode = (code: string, message: string) => Object.assign(new Error(message), { code });
/** Like the driver's class of this name, which it does not export. */
class PoolClosed extends MongoDriverError {
  override get name() {
    return 'MongoPoolClosedError';
  }
}

const classOf = (error: unknown) => classifyStoreError(error).errorClass;

describe('an error of MongoDB', () => {
  test.each([
    ['no server', new MongoServerSelectionError('none', {} as never)],
    ['a lost connection', new MongoNetworkError('reset')],
    ['a connection that timed out', new MongoNetworkTimeoutError('timed out')],
    ['a closed client', new MongoNotConnectedError('closed')],
    [
      'a missing majority',
      new MongoWriteConcernError({ ok: 1, writeConcernError: { code: 64, errmsg: 'w' } }),
    ],
    ['a missing majority for a bulk', bulk(64)],
    ['a PostgreSQL-backed store that lost its database', answered(1, 'pool.go:90: failed to connect')],
    ['a PostgreSQL-backed store that lost its database during a bulk', bulk(1, 'conn.go:7: unexpected EOF')],
    ['a connection that was reset during a write', ofNode('ECONNRESET', 'write ECONNRESET')],
    ['a connection that the server has ended', ofNode('EPIPE', 'This socket has been ended')],
    [
      'a connection that was reset during a bulk',
      new MongoBulkWriteError(ofNode('ECONNRESET', 'write ECONNRESET') as never, {} as never),
    ],
    ['a pool whose server has left the replica set', new PoolClosed('closed')],
    ['an internal error of MongoDB', answered(1, 'Invariant failure')],
    ['an error that a later release may add', answered(999_999)],
    ['a write in a bulk that fails for an unknown reason', bulk(999_999)],
    ['a name without an address in its records', new MongoAPIError('No addresses found at host')],
    ['a wrong command with the label that allows a repetition', answered(2, 'refused', ['RetryableError'])],
  ])('is transient: %s', (_, error) => {
    expect(classOf(error)).toBe('transient');
  });

  test.each([
    // The network between the servers.
    ...[6, 7, 89, 9_001],
    // Too few members for a read preference, a read concern or a write concern.
    ...[133, 134, 64, 100],
    // A cursor or query plan that the server has ended.
    ...[43, 175, 237],
    // Refusals that pass by themselves: an interrupted read, a moved shard, a full cache, a lost snapshot.
    ...[24, 112, 202, 211, 246, 279, 290, 365, 384, 11_601, 13_388],
  ])('is transient: code %i of a server', (code) => expect(classOf(answered(code))).toBe('transient'));

  test.each([50, 262])('is too slow: code %i of a server', (code) =>
    expect(classOf(answered(code))).toBe('too-slow'),
  );

  test.each([91, 189, 11_600, 11_602, 10_058, 10_107, 13_435, 13_436])(
    'comes from a member that is not the primary, despite its labels: code %i of a server',
    (code) => {
      const labelled = answered(code, 'refused', ['RetryableWriteError']);
      expect([answered(code), labelled, bulk(code)].map(classOf)).toEqual(
        Array(3).fill('refuses-connection'),
      );
    },
  );

  test.each([
    ['ENOTFOUND', 'querySrv'],
    ['ESERVFAIL', 'querySrv'],
    ['ETIMEOUT', 'queryTxt'],
    ['ENOENT', 'open'],
    ['EAI_AGAIN', 'getaddrinfo'],
  ])(
    'is transient: %s from %s, for a name that is looked up or a certificate that is opened',
    (code, syscall) => expect(classOf(Object.assign(ofNode(code, 'no name'), { syscall }))).toBe('transient'),
  );

  test.each([
    ['an index of the same name', answered(86), 'wrong-command'],
    ['an index with other options', answered(85), 'wrong-command'],
    ['a wrong password', answered(18), 'unauthorized'],
    ['a missing permission', answered(13), 'unauthorized'],
    ['a user whom Atlas refuses', answered(8_000), 'unauthorized'],
    [
      'a missing permission as the cause of another error',
      new Error('indexes', { cause: answered(13) }),
      'unauthorized',
    ],
    ['a duplicate id', answered(11_000), 'refuses-document'],
    ['a document that cannot be stored', bulk(10_334), 'refuses-document'],
    ['a wrong value', answered(2), 'refuses-document'],
    ['an unknown command', answered(59), 'wrong-command'],
    ['an unknown field', answered(40_415), 'wrong-command'],
    ['a wrong connection string', new MongoParseError('wrong'), 'wrong-command'],
    ['a wrong argument', new MongoInvalidArgumentError('wrong'), 'bug'],
    ['a bug', new TypeError('undefined'), 'bug'],
    [
      'a bug as the cause of another error',
      new Error('in a join', { cause: new TypeError('undefined') }),
      'bug',
    ],
    ['a thrown text', 'text', 'bug'],
    ['a lack of memory', new RangeError('Array buffer allocation failed'), 'no-memory'],
    ['a file that is missing', ofNode('ENOENT', 'no such file'), 'other'],
    ['a failed assertion', new AssertionError({ message: 'position <= end' }), 'other'],
  ])('is not transient: %s', (_, error, expected) => {
    expect(classOf(error)).toBe(expected);
  });
});

test('the fix of a refused certificate names the options and the certificates to check', () => {
  expect(classifyStoreError(ofNode('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'))).toEqual({
    errorClass: 'refuses-connection',
    fix:
      "Check tlsCAFile (or NODE_EXTRA_CA_CERTS) and tlsCertificateKeyFile in MONGODB_URL against MongoDB's certificates, " +
      'which may have been renewed',
  });
});

describe('an overloaded MongoDB', () => {
  const labelled = answered(999_999, 'refused', ['SystemOverloadedError']);

  test('is recognized by its label, or by its code without a label', () => {
    expect([labelled, answered(462), answered(433)].map(classOf)).toEqual(Array(3).fill('overloaded'));
  });

  test('is neither a failed connection, to which the driver gives the same label, nor a shutdown', () => {
    const reset = new MongoNetworkError('reset');
    reset.addErrorLabel('SystemOverloadedError');
    expect([classOf(reset), classOf(answered(91))]).toEqual(['transient', 'refuses-connection']);
  });

  test.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [20, 30_000],
  ])(
    'is retried after attempt %d with a pause of at most %d ms, and at least half of that',
    (attempt, longestMs) => {
      const pauses = Array.from({ length: 500 }, () => retryPauseMs(labelled, attempt, 100));
      const shortest = Math.min(...pauses);
      const longest = Math.max(...pauses);
      expect(shortest).toBeGreaterThanOrEqual(0.5 * longestMs);
      expect(longest).toBeLessThanOrEqual(longestMs);
      // 500 pauses leave out a tenth of the range once in 10^22 runs.
      expect(shortest).toBeLessThan(0.55 * longestMs);
      expect(longest).toBeGreaterThan(0.95 * longestMs);
    },
  );

  test('has no effect on the pauses after other errors', () => {
    expect(retryPauseMs(answered(91), 20, 100)).toBe(100);
  });
});

test('the page for operators lists each code of a wrong command, and no other', () => {
  const page = readFileSync('docs/mongodb.md', 'utf8');
  const codes = /^### Codes of a wrong command\n\n((?:[- ] .+\n)+)/m.exec(page)?.[1] ?? '';
  const listed = [...codes.matchAll(/\d+/g)].map(([code]) => Number(code)).toSorted((a, b) => a - b);
  const permanent = [...storeCodes].filter(([, { errorClass }]) =>
    /^(?:refuses-document|wrong-command)$/.test(errorClass),
  );
  expect(listed).toEqual(permanent.map(([code]) => code).toSorted((a, b) => a - b));
});
