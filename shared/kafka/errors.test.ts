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
import { classify, explained, isRefusal, isTransient } from './errors.ts';
import { otherProtocol } from './listener-protocol.ts';

const is = (error: unknown) => classify(error).is;

/** An answer of a broker, of MongoDB, and an error at a connection to a broker. */
const answered = (type: string, retriable = false) =>
  new KafkaJSProtocolError(Object.assign(new Error('refused'), { type, code: 1, retriable }));
const answeredByStore = (code: number) => new MongoServerError({ ok: 0, code, errmsg: 'refused' });
const withCode = (code: string) => Object.assign(new Error(code), { code });
const ofBroker = (code: string) => new KafkaJSConnectionError('Connection error', { code });
const givenUp = (error: Error) => new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 8, retryTime: 1 });
const wrapped = (error: Error) =>
  Object.assign(new KafkaJSNonRetriableError(error.message), { cause: error });

/** The error of a driver that could not use any server. */
function noServer(...errors: (Error | null)[]): Error {
  const servers = new Map(errors.map((error, index) => [`host-${index}:27017`, { error }]));
  const reason = { servers, error: errors.find((error) => error !== null) };
  return new MongoServerSelectionError('none', reason as unknown as TopologyDescription);
}
const overTls = (code: string) => new MongoNetworkError('connection failed', { cause: withCode(code) });

describe('an error of the brokers or of MongoDB', () => {
  it.each([
    ['a broker that does not respond', new KafkaJSConnectionError('refused')],
    ['a leader that has moved', answered('NOT_LEADER_FOR_PARTITION', true)],
    ['a broker that has failed at a request', answered('UNKNOWN')],
    ['a code of a later release', answered('KAFKAJS_UNKNOWN_ERROR_CODE')],
    [
      'a coordinator that no broker names',
      Reflect.construct(KafkaJSGroupCoordinatorNotFound, ['none']) as Error,
    ],
    ['brokers that do not respond to any attempt', givenUp(new KafkaJSConnectionError('refused'))],
    ['a broker that is away', ofBroker('ECONNREFUSED')],
    ['a broker that cannot go on', ofBroker('ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR')],
    ['a transient error as the cause', new Error('indexes', { cause: new MongoNetworkError('reset') })],
    ['no server of MongoDB', noServer(new MongoNetworkError('reset'))],
  ])('passes: %s', (_, error) => {
    expect({ is: is(error), isTransient: isTransient(error), isRefusal: isRefusal(error) }).toEqual({
      is: 'passes',
      isTransient: true,
      isRefusal: false,
    });
  });

  it.each([
    ['a wrong password', Reflect.construct(KafkaJSSASLAuthenticationError, ['refused']) as Error],
    ['an unknown mechanism', answered('UNSUPPORTED_SASL_MECHANISM')],
    ['no permission for a topic', answered('TOPIC_AUTHORIZATION_FAILED')],
    ['no permission for the group', answered('GROUP_AUTHORIZATION_FAILED')],
    ['a user whom MongoDB does not know', answeredByStore(18)],
    ['a user of MongoDB without a right', answeredByStore(13)],
  ])('refuses this process, both when thrown and when kafkajs gives up its retries: %s', (_, error) => {
    for (const thrown of [error, givenUp(error), wrapped(error)])
      expect({ is: is(thrown), isTransient: isTransient(thrown), isRefusal: isRefusal(thrown) }).toEqual({
        is: 'refuses-us',
        isTransient: false,
        isRefusal: true,
      });
  });

  it.each([
    ['a bug', new TypeError('undefined'), 'our-code'],
    ['a request that the brokers refuse each time', answered('INVALID_RECORD'), 'wrong-command'],
    ['a setting that the brokers do not accept', answered('INVALID_SESSION_TIMEOUT'), 'wrong-command'],
    ['a response that kafkajs cannot decode', new KafkaJSNonRetriableError('invalid varint'), 'other'],
  ])('is permanent: %s', (_, error, expected) => {
    expect({ is: is(error), isTransient: isTransient(error), isRefusal: isRefusal(error) }).toEqual({
      is: expected,
      isTransient: false,
      isRefusal: false,
    });
  });

  it('names its server, even inside other errors', () => {
    expect(
      [new Error('group', { cause: answered('UNKNOWN') }), givenUp(new Error('bug'))].map(
        (one) => classify(one).of,
      ),
    ).toEqual(['kafka', 'kafka']);
    expect([answeredByStore(13), new TypeError('bug')].map((one) => classify(one).of)).toEqual([
      'store',
      null,
    ]);
  });
});

describe('a certificate', () => {
  it.each([
    ['of a broker by another authority', ofBroker('SELF_SIGNED_CERT_IN_CHAIN'), /KAFKA_TLS_CA/],
    ['of a broker that has expired', givenUp(ofBroker('CERT_HAS_EXPIRED')), /KAFKA_TLS_CA/],
    ['for another host', ofBroker('ERR_TLS_CERT_ALTNAME_INVALID'), /KAFKA_TLS_CA/],
    [
      'of the client that has expired',
      ofBroker('ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED'),
      /KAFKA_TLS_CERT/,
    ],
    [
      'of the client that a broker does not know',
      ofBroker('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'),
      /KAFKA_TLS_CERT/,
    ],
    [
      'of the client that is missing',
      ofBroker('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
      /KAFKA_TLS_CERT/,
    ],
    ['of MongoDB by another authority', noServer(overTls('UNABLE_TO_VERIFY_LEAF_SIGNATURE')), /tlsCAFile/],
    [
      'of the primary of MongoDB, while a secondary is away',
      noServer(new MongoNetworkError('reset'), null, overTls('SELF_SIGNED_CERT_IN_CHAIN')),
      /tlsCAFile/,
    ],
  ])('%s is a refusal, with its fix', (_, error, fix) => {
    expect(is(error)).toBe('refuses-connection');
    expect(explained(error)).toMatch(fix);
  });
});

it.each([
  ['a user whom every server refuses', noServer(answeredByStore(18)), /the authSource in MONGODB_URL/],
  ['a user whom one server refuses', noServer(answeredByStore(13), null), /its rights on <DATABASE_NAME>/],
])('no server of MongoDB may be used by %s: that may pass, and is a refusal', (_, error, fix) => {
  for (const thrown of [error, new Error('start', { cause: error })]) {
    expect(is(thrown)).toBe('refuses-connection');
    expect([isTransient(thrown), isRefusal(thrown)]).toEqual([true, true]);
    expect(explained(thrown)).toMatch(fix);
  }
});

it('a listener of another protocol refuses connections, and the fix names the settings', () => {
  const error = givenUp(ofBroker(otherProtocol));
  expect(is(error)).toBe('refuses-connection');
  expect(explained(error)).toMatch(/Check KAFKA_SSL and KAFKA_SASL_MECHANISM/);
});

/** The error of a driver that asks for a set of this name, and has kept this number of servers. */
const noMember = (setName: string | null, servers: number, type = 'Unknown') => {
  const server = { error: null, type };
  const kept = new Map(Array.from({ length: servers }, (_, index) => [`host-${index}`, server]));
  const reason = { setName, servers: kept } as unknown as TopologyDescription;
  return new MongoServerSelectionError('timed out', reason);
};

it.each([
  ['a user of another database', answeredByStore(18), /the authSource in MONGODB_URL/],
  ['a user without a right', answeredByStore(13), /its rights on <DATABASE_NAME>/],
  ['a right of an operation inside', new Error('indexes', { cause: answeredByStore(13) }), /its rights on/],
  ['a validator of a collection', answeredByStore(121), /remove it \(db\.runCommand\(\{ collMod/],
  ['a member that is not the primary', answeredByStore(10_107), /directConnection=true in MONGODB_URL/],
  ['the name of another replica set', noMember('rs1', 0), /replica set rs1: check replicaSet in MONGODB_URL/],
])('the error of %s says what to do, and is a refusal', (_, error, fix) => {
  expect(explainedStoreError(error)).toMatch(fix);
  expect(explained(error)).toBe(explainedStoreError(error));
  expect(isRefusal(error)).toBe(true);
});

it('a read that no member may answer names the options that select one', () => {
  const error = noMember('rs0', 1, 'RSPrimary');
  expect(explained(error)).toMatch(
    /readPreference, readPreferenceTags and maxStalenessSeconds in MONGODB_URL/,
  );
  expect(isRefusal(error)).toBe(false);
});

it.each([189, 91, 11_600, 11_602])('a command that meets a step-down (%i) is transient', (code) => {
  expect(explained(answeredByStore(code))).toMatch(/MongoDB elects a primary: run the command again/);
});

it.each([
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
