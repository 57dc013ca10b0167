import {
  KafkaJSConnectionError,
  KafkaJSGroupCoordinatorNotFound,
  KafkaJSNonRetriableError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
  KafkaJSSASLAuthenticationError,
} from 'kafkajs';
import {
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  type TopologyDescription,
} from 'mongodb';
import { explainedStoreError } from '../store/errors.ts';
import { classify, explained, isOfKafka, isRefusal, isTransient } from './errors.ts';
import { otherProtocol } from './listener-protocol.ts';

const classOf = (error: unknown) => classify(error).errorClass;

/** The error in an answer of a broker. */
const brokerAnswer = (type: string, retriable = false) =>
  new KafkaJSProtocolError(Object.assign(new Error('refused'), { type, code: 1, retriable }));
const mongoAnswer = (code: number) => new MongoServerError({ ok: 0, code, errmsg: 'refused' });
const withCode = (code: string) => Object.assign(new Error(code), { code });
const connectionError = (code: string) => new KafkaJSConnectionError('Connection error', { code });
const afterRetries = (error: Error) =>
  new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 8, retryTime: 1 });
const withCause = (error: Error) =>
  Object.assign(new KafkaJSNonRetriableError(error.message), { cause: error });

/** The error of a driver that could not use any server. */
function noServer(...errors: (Error | null)[]): Error {
  const servers = new Map(errors.map((error, index) => [`host-${index}:27017`, { error }]));
  const reason = { servers, error: errors.find((error) => error !== null) };
  return new MongoServerSelectionError('none', reason as unknown as TopologyDescription);
}
const overTls = (code: string) => new MongoNetworkError('connection failed', { cause: withCode(code) });

describe('an error of the brokers or of MongoDB', () => {
  test.each([
    ['a broker that does not respond', new KafkaJSConnectionError('refused')],
    ['a leader that has moved', brokerAnswer('NOT_LEADER_FOR_PARTITION', true)],
    ['a broker that has failed at a request', brokerAnswer('UNKNOWN')],
    ['a code of a later release', brokerAnswer('KAFKAJS_UNKNOWN_ERROR_CODE')],
    [
      'a coordinator that no broker names',
      Reflect.construct(KafkaJSGroupCoordinatorNotFound, ['none']) as Error,
    ],
    ['brokers that do not respond to any attempt', afterRetries(new KafkaJSConnectionError('refused'))],
    ['a broker that is away', connectionError('ECONNREFUSED')],
    ['a broker that cannot go on', connectionError('ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR')],
    ['a transient error as the cause', new Error('indexes', { cause: new MongoNetworkError('reset') })],
    ['no server of MongoDB', noServer(new MongoNetworkError('reset'))],
  ])('passes: %s', (_, error) => {
    expect({
      errorClass: classOf(error),
      isTransient: isTransient(error),
      isRefusal: isRefusal(error),
    }).toEqual({ errorClass: 'transient', isTransient: true, isRefusal: false });
  });

  test.each([
    ['a wrong password', Reflect.construct(KafkaJSSASLAuthenticationError, ['refused']) as Error],
    ['an unknown mechanism', brokerAnswer('UNSUPPORTED_SASL_MECHANISM')],
    ['no permission for a topic', brokerAnswer('TOPIC_AUTHORIZATION_FAILED')],
    ['no permission for the group', brokerAnswer('GROUP_AUTHORIZATION_FAILED')],
    ['a user whom MongoDB does not know', mongoAnswer(18)],
    ['a user of MongoDB without a right', mongoAnswer(13)],
  ])('is a refusal, even after the retries of kafkajs: %s', (_, error) => {
    for (const thrown of [error, afterRetries(error), withCause(error)])
      expect({
        errorClass: classOf(thrown),
        isTransient: isTransient(thrown),
        isRefusal: isRefusal(thrown),
      }).toEqual({ errorClass: 'unauthorized', isTransient: false, isRefusal: true });
  });

  test.each([
    ['a bug', new TypeError('undefined'), 'bug'],
    ['a request that the brokers refuse each time', brokerAnswer('INVALID_RECORD'), 'wrong-command'],
    ['a setting that the brokers do not accept', brokerAnswer('INVALID_SESSION_TIMEOUT'), 'wrong-command'],
    ['a response that kafkajs cannot decode', new KafkaJSNonRetriableError('invalid varint'), 'other'],
  ])('is permanent: %s', (_, error, expected) => {
    expect({
      errorClass: classOf(error),
      isTransient: isTransient(error),
      isRefusal: isRefusal(error),
    }).toEqual({ errorClass: expected, isTransient: false, isRefusal: false });
  });

  test.each([
    ['an answer inside another error', new Error('group', { cause: brokerAnswer('UNKNOWN') }), true],
    ['a bug that kafkajs has retried', afterRetries(new Error('bug')), true],
    ['an answer of MongoDB', mongoAnswer(13), false],
    ['a bug', new TypeError('bug'), false],
  ])('is of Kafka or not: %s', (_, error, expected) => expect(isOfKafka(error)).toBe(expected));
});

describe('a certificate', () => {
  test.each([
    ['of a broker by another authority', connectionError('SELF_SIGNED_CERT_IN_CHAIN'), /KAFKA_TLS_CA/],
    ['of a broker that has expired', afterRetries(connectionError('CERT_HAS_EXPIRED')), /KAFKA_TLS_CA/],
    ['for another host', connectionError('ERR_TLS_CERT_ALTNAME_INVALID'), /KAFKA_TLS_CA/],
    [
      'of the client that has expired',
      connectionError('ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED'),
      /KAFKA_TLS_CERT/,
    ],
    [
      'of the client that a broker does not know',
      connectionError('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'),
      /KAFKA_TLS_CERT/,
    ],
    [
      'of the client that is missing',
      connectionError('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
      /KAFKA_TLS_CERT/,
    ],
    ['of MongoDB by another authority', noServer(overTls('UNABLE_TO_VERIFY_LEAF_SIGNATURE')), /tlsCAFile/],
    [
      'of the primary of MongoDB, while a secondary is away',
      noServer(new MongoNetworkError('reset'), null, overTls('SELF_SIGNED_CERT_IN_CHAIN')),
      /tlsCAFile/,
    ],
  ])('%s is a refusal, with its fix', (_, error, fix) => {
    expect(classOf(error)).toBe('refuses-connection');
    expect(explained(error)).toMatch(fix);
  });
});

test.each([
  ['a user whom every server refuses', noServer(mongoAnswer(18)), /the authSource in MONGODB_URL/],
  ['a user whom one server refuses', noServer(mongoAnswer(13), null), /its rights on <DATABASE_NAME>/],
])('a refusal of %s by every usable server of MongoDB may pass', (_, error, fix) => {
  for (const thrown of [error, new Error('start', { cause: error })]) {
    expect(classOf(thrown)).toBe('refuses-connection');
    expect([isTransient(thrown), isRefusal(thrown)]).toEqual([true, true]);
    expect(explained(thrown)).toMatch(fix);
  }
});

test('a listener of another protocol refuses connections, and the fix names the settings', () => {
  const error = afterRetries(connectionError(otherProtocol));
  expect(classOf(error)).toBe('refuses-connection');
  expect(explained(error)).toMatch(/Check KAFKA_SSL and KAFKA_SASL_MECHANISM/);
});

/** The error of a driver that asks for a set of this name, and has kept this number of servers. */
const noMember = (setName: string | null, servers: number, type = 'Unknown') => {
  const server = { error: null, type };
  const kept = new Map(Array.from({ length: servers }, (_, index) => [`host-${index}`, server]));
  const reason = { setName, servers: kept } as unknown as TopologyDescription;
  return new MongoServerSelectionError('timed out', reason);
};

test.each([
  ['a user of another database', mongoAnswer(18), /the authSource in MONGODB_URL/],
  ['a user without a right', mongoAnswer(13), /its rights on <DATABASE_NAME>/],
  ['a right of an operation inside', new Error('indexes', { cause: mongoAnswer(13) }), /its rights on/],
  ['a validator of a collection', mongoAnswer(121), /remove it \(db\.runCommand\(\{ collMod/],
  ['a member that is not the primary', mongoAnswer(10_107), /directConnection=true in MONGODB_URL/],
  ['the name of another replica set', noMember('rs1', 0), /replica set rs1: check replicaSet in MONGODB_URL/],
])('the error of %s is a refusal that names the fix', (_, error, fix) => {
  expect(explainedStoreError(error)).toMatch(fix);
  expect(explained(error)).toBe(explainedStoreError(error));
  expect(isRefusal(error)).toBe(true);
});

test('a read that no member may answer names the options that select one', () => {
  const error = noMember('rs0', 1, 'RSPrimary');
  expect(explained(error)).toMatch(
    /readPreference, readPreferenceTags and maxStalenessSeconds in MONGODB_URL/,
  );
  expect(isRefusal(error)).toBe(false);
});

test.each([189, 91, 11_600, 11_602])('a command that meets a step-down (%i) is transient', (code) => {
  expect(explained(mongoAnswer(code))).toMatch(/MongoDB elects a primary: run the command again/);
});

test.each([
  ['a replica set whose members are away', noMember('rs0', 1)],
  ['servers outside a replica set', noMember(null, 0)],
  // Kafka's NETWORK_EXCEPTION has the number of MongoDB's Unauthorized.
  [
    'brokers with the same number',
    new KafkaJSProtocolError(
      Object.assign(new Error('no'), { type: 'NETWORK_EXCEPTION', code: 13, retriable: true }),
    ),
  ],
])('the error of %s does not mention MONGODB_URL', (_, error) => {
  expect(explained(error)).not.toContain('MONGODB_URL');
  expect(isRefusal(error)).toBe(false);
});
