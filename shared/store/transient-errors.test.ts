import {
  MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from 'mongodb';
import { isTransientStoreError } from './transient-errors.ts';

/** The driver's own classes, filled as it fills them: none of these states can be brought about at will. */
const answered = (code: number) => new MongoServerError({ ok: 0, code, errmsg: 'refused' });
const bulk = (code: number) =>
  new MongoBulkWriteError({ code, message: 'refused', writeErrors: [] }, {
    getWriteErrors: () => [],
  } as never);

describe('an error of the store', () => {
  it.each([
    ['no server', new MongoServerSelectionError('none', {} as never)],
    ['a lost connection', new MongoNetworkError('reset')],
    ['a silent connection', new MongoNetworkTimeoutError('timed out')],
    ['a client that is closed', new MongoNotConnectedError('closed')],
    ['a primary that steps down', answered(189)],
    ['a server that is no primary', answered(10_107)],
    ['a server that shuts down', answered(91)],
    ['no majority', new MongoWriteConcernError({ ok: 1, writeConcernError: { code: 64, errmsg: 'w' } })],
    ['a store whose own database is away', answered(1)],
    ['a primary that steps down during a bulk', bulk(189)],
  ])('passes by itself: %s', (_, error) => {
    expect(isTransientStoreError(error)).toBe(true);
  });

  it.each([
    ['an index of the same name', answered(86)],
    ['an index with other options', answered(85)],
    ['a wrong password', answered(18)],
    ['a right that is missing', answered(13)],
    ['an id that is taken', answered(11_000)],
    ['a document that the store cannot hold', bulk(1)],
    ['a wrong argument', new MongoInvalidArgumentError('wrong')],
    ['a fault of the code', new TypeError('undefined')],
    ['nothing of the kind', 'text'],
  ])('comes again: %s', (_, error) => {
    expect(isTransientStoreError(error)).toBe(false);
  });
});
