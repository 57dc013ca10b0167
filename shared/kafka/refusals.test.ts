import { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded } from 'kafkajs';
import {
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  type TopologyDescription,
} from 'mongodb';
import { otherProtocol } from './listener-protocol.ts';
import { isCertificateError, isRefusal } from './refusals.ts';
import { explained } from './remedies.ts';

const withCode = (code: string) => Object.assign(new Error(code), { code });
const ofBroker = (code: string) => new KafkaJSConnectionError('Connection error', { code });
const givenUp = (error: Error) => new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 8, retryTime: 1 });

/** The error of a driver that could use none of its servers. */
function noServer(...errors: (Error | null)[]): Error {
  const servers = new Map(errors.map((error, index) => [`host-${index}:27017`, { error }]));
  const reason = { servers, error: errors.find((error) => error !== null) };
  return new MongoServerSelectionError('none', reason as unknown as TopologyDescription);
}
const overTls = (code: string) => new MongoNetworkError('connection failed', { cause: withCode(code) });

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
  ])('%s is a refusal, with its remedy', (_, error, remedy) => {
    expect({ isCertificateError: isCertificateError(error), isRefusal: isRefusal(error) }).toEqual({
      isCertificateError: true,
      isRefusal: true,
    });
    expect(explained(error)).toMatch(remedy);
  });
});

it('a listener of another protocol is a refusal, which names the settings, at any address', () => {
  const error = givenUp(ofBroker(otherProtocol));
  expect(isRefusal(error)).toBe(true);
  expect(explained(error)).toMatch(/Check KAFKA_SSL and KAFKA_SASL_MECHANISM/);
});

it.each([
  ['a user whom MongoDB does not know', new MongoServerError({ message: 'no', code: 18 }), true],
  ['a user without a right', new MongoServerError({ message: 'no', code: 13 }), true],
  ['a broker that is away', ofBroker('ECONNREFUSED'), false],
  ['a broker without TLS', ofBroker('ERR_SSL_WRONG_VERSION_NUMBER'), false],
  ['a broker that cannot go on', ofBroker('ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR'), false],
  ['no server of MongoDB', noServer(new MongoNetworkError('reset')), false],
  ['a bug', new TypeError('undefined'), false],
])('%s: a refusal or none', (_, error, expected) => {
  expect({ isCertificateError: isCertificateError(error), isRefusal: isRefusal(error) }).toEqual({
    isCertificateError: false,
    isRefusal: expected,
  });
});
