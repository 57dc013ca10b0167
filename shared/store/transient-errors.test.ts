import { readFileSync } from 'node:fs';
import {
  MongoAPIError,
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
import { isOverload, isTransientStoreError, isUserRefusal, retryPauseMs } from './transient-errors.ts';

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
    ['a store on PostgreSQL that has lost it', answered(1, 'pool.go:90: failed to connect')],
    ['a store on PostgreSQL that has lost it, in a bulk', bulk(1, 'conn.go:7: unexpected EOF')],
    ['a primary that steps down during a bulk', bulk(189)],
    ['a connection that was reset under a write', ofNode('ECONNRESET', 'write ECONNRESET')],
    ['a connection that the server has ended', ofNode('EPIPE', 'This socket has been ended')],
    [
      'a connection that was reset under a bulk',
      new MongoBulkWriteError(ofNode('ECONNRESET', 'write ECONNRESET') as never, {} as never),
    ],
    ['a pool whose server has left the replica set', new PoolClosed('closed')],
    ['an internal error of MongoDB', answered(1, 'Invariant failure')],
    ['an error that a later release may add', answered(999_999)],
    ['a write in a bulk that fails for an unknown reason', bulk(999_999)],
    ['a name without an address in its records', new MongoAPIError('No addresses found at host')],
    ['a wrong command with the label that says to repeat it', answered(2, 'refused', ['RetryableError'])],
  ])('is transient: %s', (_, error) => {
    expect(isTransientStoreError(error)).toBe(true);
  });

  it.each([
    ...[6, 7, 50, 262, 89, 9_001, 91, 133, 134, 189, 11_600, 11_602, 10_058, 10_107, 13_435, 13_436],
    ...[64, 100, 43, 175, 237],
    // Refusals that pass by themselves: an interrupted read, a moved shard, a full cache, a lost snapshot, shed load.
    ...[24, 112, 202, 211, 246, 279, 290, 365, 384, 11_601, 13_388, 433, 449, 450, 462, 463, 473],
  ])('is transient: code %i of a server', (code) => expect(isTransientStoreError(answered(code))).toBe(true));

  it.each([
    ['ENOTFOUND', 'querySrv'],
    ['ESERVFAIL', 'querySrv'],
    ['ETIMEOUT', 'queryTxt'],
    ['ENOENT', 'open'],
    ['EAI_AGAIN', 'getaddrinfo'],
  ])(
    'is transient: a look-up of a name or the opening of a certificate that ends with %s (%s)',
    (code, syscall) =>
      expect(isTransientStoreError(Object.assign(ofNode(code, 'no name'), { syscall }))).toBe(true),
  );

  it.each([
    ['an index of the same name', answered(86)],
    ['an index with other options', answered(85)],
    ['a wrong password', answered(18)],
    ['a missing permission', answered(13)],
    ['a duplicate id', answered(11_000)],
    ['a document that cannot be stored', bulk(10_334)],
    ['a wrong value', answered(2)],
    ['an unknown command', answered(59)],
    ['an unknown field', answered(40_415)],
    ['a wrong argument', new MongoInvalidArgumentError('wrong')],
    ['a file that is missing', ofNode('ENOENT', 'no such file')],
    ['a bug', new TypeError('undefined')],
    ['a text', 'text'],
  ])('is permanent: %s', (_, error) => {
    expect(isTransientStoreError(error)).toBe(false);
  });
});

it('a user that MongoDB does not admit or permit is refused, which is not transient', () => {
  for (const code of [13, 18, 8_000])
    expect({
      isUserRefusal: isUserRefusal(answered(code)),
      isTransient: isTransientStoreError(answered(code)),
    }).toEqual({ isUserRefusal: true, isTransient: false });
  expect(isUserRefusal(answered(11_600))).toBe(false);
});

describe('an overloaded MongoDB', () => {
  const labelled = answered(999_999, 'refused', ['SystemOverloadedError']);

  it('is known by its label, or by its code without one', () => {
    expect([labelled, answered(462), answered(433)].map(isOverload)).toEqual([true, true, true]);
  });

  it('is not a MongoDB that is away, although the driver gives the same label to a failed connection', () => {
    const reset = new MongoNetworkError('reset');
    reset.addErrorLabel('SystemOverloadedError');
    expect({
      resetIsOverload: isOverload(reset),
      shutdownIsOverload: isOverload(answered(91)),
      resetIsTransient: isTransientStoreError(reset),
    }).toEqual({ resetIsOverload: false, shutdownIsOverload: false, resetIsTransient: true });
  });

  it('is left alone for longer with each attempt, for half a minute at most', () => {
    const chance = jest.spyOn(Math, 'random').mockReturnValue(0);
    const pauses = [1, 2, 3, 20].map((attempt) => retryPauseMs(labelled, attempt, 100));
    chance.mockReturnValue(1);
    const shortest = retryPauseMs(labelled, 2, 100);
    chance.mockRestore();
    expect(pauses).toEqual([1_000, 2_000, 4_000, 30_000]);
    expect(shortest).toBe(1_000);
  });

  it('lengthens no pause of another error', () => {
    expect(retryPauseMs(answered(91), 20, 100)).toBe(100);
  });
});

it('the table of errors for operators lists each code of a wrong command, and no other', () => {
  const row = /^\| a wrong command: ([^;]+);/m.exec(readFileSync('docs/mongodb.md', 'utf8'))?.[1] ?? '';
  const listed = [...row.matchAll(/\d+/g)].map(Number);
  const all = Array.from({ length: 100_000 }, (_, code) => code);
  const isPermanent = (code: number) =>
    !isTransientStoreError(answered(code)) && !isUserRefusal(answered(code));
  expect(listed).toEqual(all.filter(isPermanent));
});
