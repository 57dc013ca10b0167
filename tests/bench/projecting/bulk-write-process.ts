import { Kafka, logLevel } from 'kafkajs';
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { type Kind, kinds, resources } from '../../../shared/documents/resources.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import { collectionOf, createMongo, generationDatabase } from '../../../shared/store/connection.ts';

/**
 * `node bulk-write-process.ts RECORDS` is a minimal consumer as a process. It logs `consuming` at the first record and
 * `consumed` after it has written RECORDS records. Then it runs until SIGTERM.
 */
const { KAFKA_BROKERS = '', MONGODB_URL = '', DATABASE_NAME = '' } = process.env;
const { TOPIC_PREFIX = '', CONSUMER_GROUP = '' } = process.env;
const records = Number(process.argv[2]);

const log = (msg: string) => process.stdout.write(`${JSON.stringify({ level: 'info', msg })}\n`);

/** A document in the projector's form, without joins. */
type PlainDocument = { _id: string; orgId: string; version: number; state: object };

type StructuredEvent = { orgid: string; entityversion: number; data: { id: string } };

const instants = ['createdAt', 'updatedAt', 'sentAt'];

/** Reads a record without validation, with instants as dates and the projector's sort keys. */
function plainDocument(kind: Kind, value: Buffer): PlainDocument {
  const { orgid, entityversion, data } = JSON.parse(value.toString()) as StructuredEvent;
  const state: Record<string, unknown> = { ...data };
  for (const name of instants) {
    if (typeof state[name] === 'string') state[name] = new Date(state[name]);
  }
  const sortKeys = resources[kind].sortKeys as (state: object) => object;
  return { _id: data.id, orgId: orgid, version: entityversion, state, ...sortKeys(state) };
}

process.once('SIGTERM', () => process.exit(0));

const mongo = createMongo(MONGODB_URL, 'bench');
const database = generationDatabase(mongo, DATABASE_NAME, 1);
const targets = new Map<string, { kind: Kind; collection: Collection<PlainDocument> }>();
for (const kind of kinds) {
  const collection = collectionOf(database, kind) as unknown as Collection<PlainDocument>;
  targets.set(topicOf(kind, TOPIC_PREFIX), { kind, collection });
}

process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1';
const kafka = new Kafka({ brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR });
const consumer = kafka.consumer({ groupId: CONSUMER_GROUP, allowAutoTopicCreation: false });
await mongo.connect();
await consumer.connect();
await consumer.subscribe({ topics: [...targets.keys()], fromBeginning: true });
let consumed = 0;
let hasBegun = false;
let isOver = false;
await consumer.run({
  // kafkajs consumes one partition at a time by default.
  partitionsConsumedConcurrently: 3,
  eachBatch: async ({ batch: { topic, messages } }) => {
    if (!hasBegun) log('consuming');
    hasBegun = true;
    const target = targets.get(topic);
    if (!target) throw new Error(`${topic} is no topic of a resource`);
    const operations = messages.flatMap(({ value }): AnyBulkWriteOperation<PlainDocument>[] => {
      if (!value) return [];
      const replacement = plainDocument(target.kind, value);
      return [{ replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } }];
    });
    await target.collection.bulkWrite(operations, { ordered: false });
    consumed += messages.length;
    if (consumed >= records && !isOver) log('consumed');
    isOver = consumed >= records;
  },
});
