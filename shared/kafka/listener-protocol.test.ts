import { KafkaJSConnectionError } from 'kafkajs';
import { nameOtherProtocol, otherProtocol } from './listener-protocol.ts';

const metadata = 3;
const apiVersions = 18;
const saslHandshake = 17;

const withCode = (code: string, message = code) => new KafkaJSConnectionError(message, { broker: 'b', code });
/** kafkajs exports no class for these two. */
const closed = Object.assign(new Error('Closed connection'), { name: 'KafkaJSConnectionClosedError' });
const tooSlow = Object.assign(new Error('Request timed out'), { name: 'KafkaJSRequestTimeoutError' });

let brokers = 0;
/** A patched connection to another broker each time, and the errors with which it rejects its requests. */
function createTestConnection(connecting: Error | null = null) {
  const rejected: Error[] = [];
  const state = { failure: null as Error | null };
  const prototype = {
    broker: `broker-${(brokers += 1)}:9092`,
    connect: async () => {
      if (connecting) throw connecting;
    },
    send: async (_: object) => {
      if (state.failure) throw state.failure;
    },
    rejectRequests: (error: Error) => void rejected.push(error),
  };
  nameOtherProtocol({ connection: { prototype } });
  return { connection: prototype, rejected, state };
}
const codesOf = (errors: unknown[]) => errors.map((error) => (error as { code?: string }).code);

test.each([
  ['a connection that is closed before an answer', closed, otherProtocol],
  ['a connection that is reset before an answer', withCode('ECONNRESET'), otherProtocol],
  ['a request that takes too long', tooSlow, undefined],
])('%s may have the other protocol', (_, error, code) => {
  const { connection, rejected } = createTestConnection();
  connection.rejectRequests(error);
  expect(codesOf(rejected)).toEqual([code]);
});

const noTls = 'Client network socket disconnected before secure TLS connection was established';
test.each([
  ['ends the handshake', withCode('ECONNRESET', noTls), otherProtocol],
  ['answers in plain text', withCode('ERR_SSL_WRONG_VERSION_NUMBER'), otherProtocol],
  ['is not there', withCode('ECONNREFUSED'), 'ECONNREFUSED'],
  ['has another certificate', withCode('CERT_HAS_EXPIRED'), 'CERT_HAS_EXPIRED'],
])('a connection over TLS to a listener that %s', async (_, error, code) => {
  await expect(createTestConnection(error).connection.connect()).rejects.toMatchObject({ code });
});

test.each([
  ['metadata', metadata, undefined],
  ['its versions, as to any client', apiVersions, otherProtocol],
  ['a handshake, as to any client', saslHandshake, otherProtocol],
])('a broker that goes away after it has answered %s', async (_, apiKey, code) => {
  const { connection, rejected } = createTestConnection();
  await connection.send({ request: { apiKey } });
  connection.rejectRequests(closed);
  expect(codesOf(rejected)).toEqual([code]);
});

test('a broker that has answered with an error of Kafka speaks this protocol', async () => {
  const { connection, rejected, state } = createTestConnection();
  state.failure = Object.assign(new Error('no'), { type: 'TOPIC_AUTHORIZATION_FAILED' });
  await expect(connection.send({ request: { apiKey: metadata } })).rejects.toThrow('no');
  connection.rejectRequests(closed);
  expect(rejected).toEqual([closed]);
});
