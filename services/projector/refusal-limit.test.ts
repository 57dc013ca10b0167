import { MongoNetworkError } from 'mongodb';
import { createRefusalLimit } from './refusal-limit.ts';

test('the limit counts from the first refusal until the servers answer', () => {
  const refused = Object.assign(new Error('self-signed certificate in certificate chain'), {
    code: 'SELF_SIGNED_CERT_IN_CHAIN',
  });
  const limit = createRefusalLimit(() => nowMs);
  let nowMs = 0;
  const isReachedAt = (seconds: number, error: Error = refused) => {
    nowMs = seconds * 1_000;
    return limit.isReached(error);
  };
  expect([isReachedAt(10), isReachedAt(40, new MongoNetworkError('reset')), isReachedAt(69)]).toEqual([
    false,
    false,
    false,
  ]);
  limit.clear();
  expect([isReachedAt(80), isReachedAt(139)]).toEqual([false, false]);
  expect([isReachedAt(140), isReachedAt(141, new TypeError('a bug'))]).toEqual([true, false]);
});
