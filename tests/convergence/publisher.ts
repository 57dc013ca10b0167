import { CompressionTypes, type Producer, type ProducerRecord, type RecordMetadata } from 'kafkajs';
import { pino } from 'pino';
import { registerCodecs } from '../../infra/sample-data/codecs.ts';
import { sendByPartition } from '../../infra/sample-data/publish.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { encode, type Event, type Produced } from '../support/events.ts';
import { eventually, succeeds } from '../support/eventually.ts';
import { untilStable } from '../support/progress.ts';
import { createRandom, type Random } from '../support/random.ts';
import type { TestEnvironment } from '../support/test-environment.ts';

/** The header of records that no projector can apply. The oracle expects a dead letter for each of them. */
export const poisonHeader = 'poisoned';

const codecs = [
  CompressionTypes.None,
  CompressionTypes.GZIP,
  CompressionTypes.Snappy,
  CompressionTypes.LZ4,
  CompressionTypes.ZSTD,
];

export type Publisher = AsyncDisposable & {
  /** The events that brokers have acknowledged. */
  acknowledged: Event[];
  /** Resolves once every event is acknowledged. A fifth of all records is poisoned. */
  publish: (events: Event[]) => Promise<void>;
};

type Batch = { topic: string; messages: Produced[] };

/**
 * Publishes a history in the most difficult ways that the event contract allows: in every codec and both content modes,
 * partly in transactions, after aborted transactions, and with poisoned records in between. The publisher keeps the
 * order within a key, and repeats a failed send until the broker acknowledges it.
 */
export async function createPublisher(
  testEnvironment: TestEnvironment,
  seed: number,
  { transactional = false } = {},
): Promise<Publisher> {
  registerCodecs();
  const random = createRandom(seed + 7_000_000);
  const kafka = createKafka(testEnvironment.config, pino({ level: 'silent' }));
  const plain = kafka.producer({ allowAutoTopicCreation: false });
  const transactions = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId: `${testEnvironment.name}-${seed}`,
  });
  await plain.connect();
  if (transactional) await transactions.connect();
  const acknowledged: Event[] = [];
  return {
    acknowledged,
    publish: async (events) => {
      let start = 0;
      while (start < events.length) {
        const burst = events.slice(start, start + 1 + random.int(60));
        start += burst.length;
        const batches = encodeBurst(testEnvironment, random, burst);
        const compression = random.pick(codecs);
        if (transactional && random.chance(0.2)) await abort(testEnvironment, transactions, burst);
        if (transactional && random.chance(0.2)) {
          await commit(testEnvironment, transactions, batches);
        } else {
          for (const batch of batches) await sendUntilDone(testEnvironment, plain, { ...batch, compression });
        }
        acknowledged.push(...burst);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await plain.disconnect();
      if (transactional) await transactions.disconnect();
    },
  };
}

function encodeBurst(testEnvironment: TestEnvironment, random: Random, burst: Event[]): Batch[] {
  const byKind = Map.groupBy(burst, ({ kind }) => kind);
  return [...byKind].map(([kind, events]) => ({
    topic: topicOf(kind, testEnvironment.config.TOPIC_PREFIX),
    messages: events.flatMap((event) => encodeWithPoison(random, event)),
  }));
}

/** The record of an event. A poisoned record before every fourth event makes a fifth of all records. */
function encodeWithPoison(random: Random, event: Event): Produced[] {
  const record = encode(event, random.chance(0.5) ? 'structured' : 'binary');
  if (!random.chance(1 / 4)) return [record];
  const value = random.pick(['{"specversion":"1.0"', '{}', '[]', 'null', '\u0000']);
  // The key is the id of no entity, because a deletion of that entity would erase the dead letter.
  const key = `${poisonHeader}_${random.int(1_000)}`;
  return [{ key, value, headers: { [poisonHeader]: 'yes' } }, record];
}

async function commit({ admin }: TestEnvironment, producer: Producer, batches: Batch[]): Promise<void> {
  const transaction = await producer.transaction();
  const sent: RecordMetadata[] = [];
  for (const batch of batches) {
    const metadata = await sendByPartition({ producer: transaction, admin }, batch);
    sent.push(...metadata);
  }
  await transaction.commit();
  await untilStable(admin, sent);
}

/**
 * Aborts a transaction with newer versions of entities, and with entities that do not exist. A projector that applies
 * one of its records breaks the comparison with the fold.
 */
async function abort(testEnvironment: TestEnvironment, producer: Producer, burst: Event[]): Promise<void> {
  const transaction = await producer.transaction();
  const sent: RecordMetadata[] = [];
  const smallStates = burst.filter(({ data }) => data && JSON.stringify(data).length < 100_000);
  for (const event of smallStates.slice(0, 3)) {
    const id = `${event.id}_aborted`;
    const unknown = { ...event, id, data: { ...event.data, id } };
    const newer = { ...event, version: event.version + 1_000_000 };
    const messages = [encode(newer, 'structured'), encode(unknown, 'binary')];
    const topic = topicOf(event.kind, testEnvironment.config.TOPIC_PREFIX);
    const metadata = await transaction.send({ topic, messages });
    sent.push(...metadata);
  }
  await transaction.abort();
  await untilStable(testEnvironment.admin, sent);
}

async function sendUntilDone(
  { admin }: TestEnvironment,
  producer: Producer,
  record: ProducerRecord,
): Promise<void> {
  // A send fails while a broker is away. The broker may have written the records before it failed: they then come
  // twice, which the contract allows.
  await eventually(() => succeeds(sendByPartition({ producer, admin }, record)));
}
