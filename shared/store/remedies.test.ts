import { KafkaJSProtocolError } from 'kafkajs';
import { MongoServerError, MongoServerSelectionError, type TopologyDescription } from 'mongodb';
import { isRefusal } from '../kafka/refusals.ts';
import { explained } from '../kafka/remedies.ts';
import { explainedStoreError } from './remedies.ts';

const answered = (code: number) => new MongoServerError({ ok: 0, code, errmsg: 'refused' });
/** The error of a driver that asks for a set of this name, and has kept this number of servers. */
const noServer = (setName: string | null, servers: number, type = 'Unknown') => {
  const server = { error: null, type };
  const kept = new Map(Array.from({ length: servers }, (_, index) => [`host-${index}`, server]));
  const reason = { setName, servers: kept } as unknown as TopologyDescription;
  return new MongoServerSelectionError('timed out', reason);
};

it.each([
  ['a user of another database', answered(18), /the authSource in MONGODB_URL/],
  ['a user without a right', answered(13), /its rights on <DATABASE_NAME>/],
  ['a right of an operation inside', new Error('indexes', { cause: answered(13) }), /its rights on/],
  ['a member that is not the primary', answered(10_107), /directConnection=true in MONGODB_URL/],
  ['a validator of a collection', answered(121), /remove it \(db\.runCommand\(\{ collMod/],
  ['the name of another replica set', noServer('rs1', 0), /replica set rs1: check replicaSet in MONGODB_URL/],
])('the error of %s says what to do, and is a refusal', (_, error, remedy) => {
  expect(explainedStoreError(error)).toMatch(remedy);
  expect(explained(error)).toBe(explainedStoreError(error));
  expect(isRefusal(error)).toBe(true);
});

it('a read that no member may answer names the options that select one', () => {
  const error = noServer('rs0', 1, 'RSPrimary');
  expect(explained(error)).toMatch(
    /readPreference, readPreferenceTags and maxStalenessSeconds in MONGODB_URL/,
  );
  expect(isRefusal(error)).toBe(false);
});

it.each([189, 91, 11_600, 11_602])('a command that meets a step-down (%i) is to be run again', (code) => {
  expect(explained(answered(code))).toMatch(/MongoDB elects a primary: run the command again/);
});

it.each([
  ['a replica set whose members are away', noServer('rs0', 1)],
  ['servers outside a replica set', noServer(null, 0)],
  // Kafka's NETWORK_EXCEPTION has the number of MongoDB's Unauthorized.
  [
    'brokers with the same number',
    new KafkaJSProtocolError(
      Object.assign(new Error('no'), { type: 'NETWORK_EXCEPTION', code: 13, retriable: true }),
    ),
  ],
])('the error of %s says nothing of MONGODB_URL', (_, error) => {
  expect(explained(error)).not.toContain('MONGODB_URL');
  expect(isRefusal(error)).toBe(false);
});
