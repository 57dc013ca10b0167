import {
  MongoBulkWriteError,
  MongoDriverError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from 'mongodb';
import { isTransientStoreError } from './transient-errors.ts';

/** Instances of the driver's classes, filled as the driver fills them. The states cannot be produced on demand. */
const answered = (code: number, errmsg = 'refused') => new MongoServerError({ ok: 0, code, errmsg });
const bulk = (code: number, message = 'refused') =>
  new MongoBulkWriteError({ code, message, writeErrors: [] }, {
    getWriteErrors: () => [],
    getWriteConcernError: () => undefined,
  } as never);

/** An error of Node's socket, which the driver passes on as it is. */
const ofNode = (code: string, message: string) => Object.assign(new Error(message), { code });
/** As the driver's own class, which it does not export. */
class PoolClosed extends MongoDriverError {
  override get name() {
    return 'MongoPoolClosedError';
  }
}

describe('an error of MongoDB', () => {
  it.each([
    ['no server', new MongoServerSelectionError('none', {} as never)],
    ['a lost connection', new MongoNetworkError('reset')],
    ['a connection that timed out', new MongoNetworkTimeoutError('timed out')],
    ['a closed client', new MongoNotConnectedError('closed')],
    [
      'a missing majority',
      new MongoWriteConcernError({ ok: 1, writeConcernError: { code: 64, errmsg: 'w' } }),
    ],
    ['a missing majority for a bulk', bulk(64)],
    ['a store that has lost its database', answered(1, 'pool.go:90: failed to connect to `user=postgres`')],
    ['a store that has lost its database, in a bulk', bulk(1, 'conn.go:7: unexpected EOF')],
    ['a store whose database shuts down', answered(1, 'terminating connection due to administrator command')],
    ['a primary that steps down during a bulk', bulk(189)],
    ['a connection that was reset under a write', ofNode('ECONNRESET', 'write ECONNRESET')],
    ['a connection that the server has ended', ofNode('EPIPE', 'This socket has been ended')],
    [
      'a connection that was reset under a bulk',
      new MongoBulkWriteError(ofNode('ECONNRESET', 'write ECONNRESET') as never, {} as never),
    ],
    ['a pool whose server has left the replica set', new PoolClosed('closed')],
  ])('is transient: %s', (_, error) => {
    expect(isTransientStoreError(error)).toBe(true);
  });

  it.each([
    ...[6, 7, 50, 262, 89, 9_001, 91, 133, 134, 189, 11_600, 11_602, 10_058, 10_107, 13_435, 13_436],
    ...[64, 100, 43, 175, 237],
  ])('is transient: code %i of a server', (code) => expect(isTransientStoreError(answered(code))).toBe(true));

  it.each([
    ['an index of the same name', answered(86)],
    ['an index with other options', answered(85)],
    ['a wrong password', answered(18)],
    ['a missing permission', answered(13)],
    ['a duplicate id', answered(11_000)],
    ['a document that cannot be stored', bulk(1)],
    ['an internal error of MongoDB', answered(1, 'Invariant failure')],
    ['a wrong argument', new MongoInvalidArgumentError('wrong')],
    ['a file that is missing', ofNode('ENOENT', 'no such file')],
    ['a bug', new TypeError('undefined')],
    ['a text', 'text'],
  ])('is permanent: %s', (_, error) => {
    expect(isTransientStoreError(error)).toBe(false);
  });
});
