import { AssertionError } from 'node:assert';
import { isUtf8 } from 'node:buffer';
import { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded } from 'kafkajs';
import {
  BSON,
  MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb';
import { z } from 'zod';
import { errorClass, isCodeError, thrownPlaces } from './code-errors.ts';

const withCode = (error: Error, code: string) => Object.assign(error, { code });
const thrownBy = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};
const circular: Record<string, unknown> = {};
circular.self = circular;

class Revoked extends Error {
  override name = 'Revoked';
}

test.each<[string, unknown]>([
  ['a property of null', thrownBy(() => (null as unknown as { id: string }).id)],
  ['an expression or a recursion too deep for the stack', new RangeError('Maximum call stack size exceeded')],
  ['a text that is too long', thrownBy(() => 'x'.repeat(2 ** 30))],
  ['a check of its own', new Error('the edge has no index')],
  ['a number outside of a buffer', thrownBy(() => Buffer.alloc(1).writeUInt8(256))],
  ['an argument of the wrong type', thrownBy(() => isUtf8(7 as never))],
  ['an object that BSON cannot write', thrownBy(() => BSON.serialize(circular))],
  ['a schema', thrownBy(() => z.string().parse(7))],
  ['a command that the driver does not send', new MongoInvalidArgumentError('Document is too large')],
  ['code that wraps another error of code', new Error('join', { cause: new TypeError('x') })],
  ['a text', 'thrown'],
  ['nothing', undefined],
])('an error of %s comes from the code', (_, error) => {
  expect(isCodeError(error)).toBe(true);
});

test.each<[string, unknown]>([
  ['a lost connection to MongoDB', new MongoNetworkError('connection closed')],
  ['an unreachable MongoDB', new MongoServerSelectionError('no primary', {} as never)],
  ['a refusal by MongoDB', new MongoServerError({ message: 'not authorized', code: 13 })],
  ['a bulk write', new MongoBulkWriteError({ message: 'E11000' } as never, {} as never)],
  ['a socket', withCode(new Error('write EPIPE'), 'EPIPE')],
  ['a file', withCode(new Error('ENOENT: no such file'), 'ENOENT')],
  ['TLS', withCode(new Error('altnames'), 'ERR_TLS_CERT_ALTNAME_INVALID')],
  ['a broker', new KafkaJSConnectionError('Connection timeout')],
  ['a broker after all retries', new KafkaJSNumberOfRetriesExceeded(new Error('x'), {} as never)],
  ['a lookup that code wraps', new TypeError('fetch failed', { cause: withCode(new Error(), 'ENOTFOUND') })],
  ['a partition that was taken away', new Revoked('support.tags/0 is no longer assigned')],
  ['an aborted signal', AbortSignal.abort().reason],
  ['a signal whose time is over', new DOMException('', 'TimeoutError')],
  ['memory for a buffer', new RangeError('Array buffer allocation failed')],
  ['memory for zlib', withCode(new RangeError('zlib'), 'Z_MEM_ERROR')],
  ['memory for zstd', withCode(new TypeError('zstd'), 'ZSTD_error_memory_allocation')],
  ['a name that is not known', Object.assign(new Error('credentials'), { name: 'CredentialsProviderError' })],
])('an error of %s may pass, and the batch is retried', (_, error) => {
  expect(isCodeError(error)).toBe(false);
});

test('a failed assertion is not an error of a record: the projector ends, and stores no dead letter', () => {
  expect(isCodeError(new AssertionError({ message: 'position <= end' }))).toBe(false);
});

test('an error is described by its class and its places, never by its message, which may quote data', () => {
  const error = thrownBy(() => JSON.parse('canary\n    at canary'));
  expect(errorClass(error)).toBe('SyntaxError');
  expect(thrownPlaces(error)).toMatch(/^SyntaxError\n +at /);
  expect(thrownPlaces(error)).not.toContain('canary');
  expect({ class: errorClass('canary'), places: thrownPlaces(undefined) }).toEqual({
    class: 'string',
    places: 'undefined',
  });
});
