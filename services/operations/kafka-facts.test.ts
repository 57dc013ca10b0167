import { KafkaJSConnectionError, KafkaJSProtocolError } from 'kafkajs';
import type { Db } from 'mongodb';
import { readKafka } from './kafka-facts.ts';

const control = { collection: () => ({ findOne: async () => null }) } as unknown as Db;
const config = { DATABASE_NAME: 'support' } as Parameters<typeof readKafka>[0]['config'];
const ifDown = '. If the brokers are down, restore them: the projectors continue by themselves';

/** The problem of a reading whose clients cannot be connected. */
const problem = async (connecting: Promise<never>) =>
  (await readKafka({ control, config, topics: [] }, () => connecting, [], 10)).problem;

const refused = Object.assign(new Error('no'), { type: 'TOPIC_AUTHORIZATION_FAILED', code: 29 });
test.each<[string, () => Promise<never>, unknown]>([
  ['an outage', () => Promise.reject(new KafkaJSConnectionError('ECONNREFUSED')), `ECONNREFUSED${ifDown}`],
  ['silence', () => new Promise(() => undefined), `no answer for 0.01 s${ifDown}`],
  [
    'a refusal',
    () => Promise.reject(new KafkaJSProtocolError(refused)),
    expect.stringMatching(/^no\. The Kafka user of a projector needs Read(?!.*brokers are down)/),
  ],
  [
    'other brokers',
    () => Promise.reject(new Error('the brokers offer Metadata 9')),
    'the brokers offer Metadata 9',
  ],
])('brokers are reported as down only if they may be down: %s', async (_, connecting, expected) => {
  expect(await problem(connecting())).toEqual(expected);
});
