import { Kafka, logLevel } from 'kafkajs';
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { collectionOf, createMongo, generationDatabase } from '../../../shared/store/connection.ts';
import { topicOf, kindOfTopic } from '../../../services/projector/events/topics.ts';
import { resources } from '../../../shared/documents/resources.ts';

/**
 * `node bulk-write-process.ts RECORDS`: a minimal consumer as a process. It logs `consuming` at the first record and
 * `consumed` after the last applied one, then waits to be killed.
 */
const {
  KAFKA_BROKERS = '',
  MONGODB_URL = '',
  DATABASE_NAME = '',
  TOPIC_PREFIX = '',
  CONSUMER_GROUP = '',
} = process.env;
const records = Number(process.argv[2]);

/** All partitions of a topic at once; kafkajs consumes one by default. */
const partitionsAtOnce = 3;

let consumed = 0;
let start: { ms: number; processor: NodeJS.CpuUsage } | undefined;

const log = (msg: string, fields: object = {}) =>
  void process.stdout.write(`${JSON.stringify({ level: 'info', msg, ...fields })}\n`);

function begin(): void {
  if (start) return;
  start = { ms: performance.now(), processor: process.cpuUsage() };
  log('consuming');
}

function applied(some: number): void {
  consumed += some;
  if (consumed < records || !start || consumed - some >= records) return;
  const { user, system } = process.cpuUsage(start.processor);
  log('consumed', {
    seconds: (performance.now() - start.ms) / 1_000,
    processorSeconds: (user + system) / 1e6,
  });
}

/** A document in the projector's form, without joins. */
type PlainDocument = { _id: string; orgId: string; version: number; state: object };

type StructuredEvent = {
  orgid: string;
  entityversion: number;
  data: { id: string } & Record<string, unknown>;
};

const instants = ['createdAt', 'updatedAt', 'sentAt'];

/** Reads a record without validation, with instants as dates and the projector's sort keys. */
function documentOf(kind: Kind, value: Buffer): PlainDocument {
  const { orgid, entityversion, data } = JSON.parse(value.toString()) as StructuredEvent;
  const state: Record<string, unknown> = { ...data };
  for (const name of instants) if (typeof state[name] === 'string') state[name] = new Date(state[name]);
  const sortKeys = resources[kind].sortKeys as (state: object) => object;
  return { _id: data.id, orgId: orgid, version: entityversion, state, ...sortKeys(state) };
}

const mongo = createMongo(MONGODB_URL, 'bench');
const database = generationDatabase(mongo, DATABASE_NAME, 1);
const collections = new Map<string, Collection<PlainDocument>>();
for (const kind of kinds) {
  const collection: unknown = collectionOf(database, kind);
  collections.set(topicOf(kind, TOPIC_PREFIX), collection as Collection<PlainDocument>);
}

process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1';
const kafka = new Kafka({ brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR });
const consumer = kafka.consumer({ groupId: CONSUMER_GROUP, allowAutoTopicCreation: false });
await mongo.connect();
await consumer.connect();
await consumer.subscribe({ topics: [...collections.keys()], fromBeginning: true });
await consumer.run({
  partitionsConsumedConcurrently: partitionsAtOnce,
  eachBatch: async ({ batch: { topic, messages } }) => {
    begin();
    const kind = kindOfTopic(topic, TOPIC_PREFIX);
    const collection = collections.get(topic);
    if (!kind || !collection) throw new Error(`${topic} is no topic of a resource`);
    const operations = messages.flatMap(({ value }): AnyBulkWriteOperation<PlainDocument>[] => {
      if (!value) return [];
      const replacement = documentOf(kind, value);
      return [{ replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } }];
    });
    await collection.bulkWrite(operations, { ordered: false });
    applied(messages.length);
  },
});
