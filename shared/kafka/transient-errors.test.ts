import {
  KafkaJSConnectionError,
  KafkaJSGroupCoordinatorNotFound,
  KafkaJSNonRetriableError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
  KafkaJSSASLAuthenticationError,
} from 'kafkajs';
import { MongoNetworkError } from 'mongodb';
import { isKafkaAuthorizationError, isTransient } from './transient-errors.ts';

const answered = (type: string, retriable = false) =>
  new KafkaJSProtocolError(Object.assign(new Error('refused'), { type, code: 1, retriable }));

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
    [
      'brokers that do not respond to any attempt',
      new KafkaJSNumberOfRetriesExceeded(new KafkaJSConnectionError('refused'), {
        retryCount: 8,
        retryTime: 1,
      }),
    ],
    ['a transient error as the cause', new Error('indexes', { cause: new MongoNetworkError('reset') })],
  ])('is transient: %s', (_, error) => {
    expect({
      isTransient: isTransient(error),
      isAuthorizationError: isKafkaAuthorizationError(error),
    }).toEqual({ isTransient: true, isAuthorizationError: false });
  });

  it.each([
    ['a wrong password', Reflect.construct(KafkaJSSASLAuthenticationError, ['refused']) as Error],
    ['an unknown mechanism', answered('UNSUPPORTED_SASL_MECHANISM')],
    ['no permission for a topic', answered('TOPIC_AUTHORIZATION_FAILED')],
    ['no permission for the group', answered('GROUP_AUTHORIZATION_FAILED')],
  ])('is an authorization error, both when thrown and when kafkajs gives up its retries: %s', (_, error) => {
    const givenUp = new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 8, retryTime: 1 });
    const bailed = Object.assign(new KafkaJSNonRetriableError(error.message), { cause: error });
    for (const thrown of [error, givenUp, bailed]) {
      expect({
        isTransient: isTransient(thrown),
        isAuthorizationError: isKafkaAuthorizationError(thrown),
      }).toEqual({ isTransient: false, isAuthorizationError: true });
    }
  });

  it.each([
    ['a bug', new TypeError('undefined')],
    ['a request that the brokers refuse each time', answered('INVALID_RECORD')],
    ['a setting that the brokers do not accept', answered('INVALID_SESSION_TIMEOUT')],
    ['a response that kafkajs cannot decode', new KafkaJSNonRetriableError('invalid varint')],
  ])('is permanent: %s', (_, error) => {
    expect({
      isTransient: isTransient(error),
      isAuthorizationError: isKafkaAuthorizationError(error),
    }).toEqual({ isTransient: false, isAuthorizationError: false });
  });
});
