import {
  KafkaJSConnectionError,
  KafkaJSNonRetriableError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
  KafkaJSSASLAuthenticationError,
} from 'kafkajs';
import { MongoNetworkError } from 'mongodb';
import { isKafkaRefusal, isTransient } from './transient-errors.ts';

const answered = (type: string) =>
  new KafkaJSProtocolError(Object.assign(new Error('refused'), { type, code: 1, retriable: false }));

describe('a failure of the brokers or the store', () => {
  it.each([
    ['a broker that does not answer', new KafkaJSConnectionError('refused')],
    ['a leader that has moved', answered('NOT_LEADER_FOR_PARTITION')],
    ['a store that is away', new MongoNetworkError('reset')],
    ['either of them, as the cause', new Error('indexes', { cause: new MongoNetworkError('reset') })],
  ])('is an absence: %s', (_, error) => {
    expect([isTransient(error), isKafkaRefusal(error)]).toEqual([true, false]);
  });

  it.each([
    ['a wrong password', Reflect.construct(KafkaJSSASLAuthenticationError, ['refused']) as Error],
    ['an unknown mechanism', answered('UNSUPPORTED_SASL_MECHANISM')],
    ['no right to a topic', answered('TOPIC_AUTHORIZATION_FAILED')],
    ['no right to the group', answered('GROUP_AUTHORIZATION_FAILED')],
  ])('is a refusal, as it is thrown and as kafkajs gives up on it: %s', (_, error) => {
    const givenUp = new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 8, retryTime: 1 });
    const bailed = Object.assign(new KafkaJSNonRetriableError(error.message), { cause: error });
    for (const one of [error, givenUp, bailed]) {
      expect([isTransient(one), isKafkaRefusal(one)]).toEqual([false, true]);
    }
  });

  it('is neither where the fault is of the code', () => {
    expect(isTransient(new TypeError('undefined'))).toBe(false);
  });
});
