import {
  type Admin,
  CompressionTypes,
  Partitioners,
  type Producer,
  type ProducerRecord,
  type RecordMetadata,
} from 'kafkajs';
import { pino } from 'pino';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { projectorConfig } from '../../services/projector/config.ts';
import { partitionKey } from '../../shared/control/topic-partition.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { topicOf, topicsOf } from '../../shared/kafka/topics.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import { registerCodecs } from './codecs.ts';
import type { SampleRecord } from './encode.ts';
import type { SampleBatch } from './sample-data.ts';

const codecs = [
  CompressionTypes.ZSTD,
  CompressionTypes.LZ4,
  CompressionTypes.Snappy,
  CompressionTypes.GZIP,
  CompressionTypes.None,
];

/** Connected clients of the Kafka that a projector's settings name. */
export type KafkaConnection = {
  admin: Admin;
  producer: Producer;
  /** `TOPIC_PREFIX` */
  prefix: string;
  /** The entity topics. */
  topics: string[];
  /** Creates the topics that do not exist, by default with three partitions. */
  create: (partitions?: number) => Promise<string[]>;
  close: () => Promise<unknown>;
};

/** Connects to the Kafka of a projector's settings. */
export async function connectKafka(settings: Record<string, string | undefined>): Promise<KafkaConnection> {
  const config = configOrExit(projectorConfig(settings));
  const { TOPIC_PREFIX: prefix } = config;
  const kafka = createKafka(config, pino({ level: 'silent' }));
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  const close = () => Promise.allSettled([producer.disconnect(), admin.disconnect()]);
  try {
    await Promise.all([admin.connect(), producer.connect()]);
  } catch (error) {
    await close();
    throw error;
  }
  const topics = topicsOf(prefix);
  return {
    admin,
    producer,
    prefix,
    topics,
    create: (partitions = 3) => createTopics(admin, prefix, { partitions }),
    close,
  };
}

/** The end offset of each partition of the topics. The keys are `<topic>/<partition>`. */
export async function endOffsets(admin: Pick<Admin, 'fetchTopicOffsets'>, topics: string[]) {
  const ends = new Map<string, number>();
  // Asks for one topic after the other: if a broker does not know a topic yet, kafkajs forgets the topics of concurrent
  // requests.
  for (const topic of topics) {
    for (const { partition, high } of await admin.fetchTopicOffsets(topic)) {
      ends.set(partitionKey({ topic, partition }), Number(high));
    }
  }
  return ends;
}

/** A connected producer, or a transaction of one, and an admin client that knows the partitions. */
export type Sender = { producer: Pick<Producer, 'send'>; admin: Pick<Admin, 'fetchTopicMetadata'> };

const partitionOf = Partitioners.DefaultPartitioner();

/**
 * Sends the records of one topic, and rejects unless each partition confirms its records. Each partition has its own
 * `send`, because kafkajs can lose records of a `send` to several partitions: if the leader of a partition moves to a
 * broker that has already answered this `send`, kafkajs never sends the records of that partition.
 */
export async function sendByPartition(
  { producer, admin }: Sender,
  { topic, messages, compression }: ProducerRecord,
): Promise<RecordMetadata[]> {
  // Asks for all topics, because kafkajs forgets a topic that is not asked for. `endOffsets` may be reading that topic.
  const metadata = await admin.fetchTopicMetadata();
  const partitionMetadata = metadata.topics.find(({ name }) => name === topic)?.partitions ?? [];
  const confirmations: RecordMetadata[] = [];
  const byPartition = Map.groupBy(messages, (message) => partitionOf({ topic, partitionMetadata, message }));
  for (const [partition, partitionMessages] of byPartition) {
    const confirmed = await producer.send({
      topic,
      messages: partitionMessages.map((message) => ({ ...message, partition })),
      ...(compression && { compression }),
    });
    // kafkajs drops the records of a partition that the producer does not know yet, without an error.
    if (confirmed.length === 0) throw new Error(`${topic}/${partition} did not confirm its records`);
    confirmations.push(...confirmed);
  }
  return confirmations;
}

/** Sends records. Records with the same key keep their order. */
export async function publishRecords(
  { prefix, ...sender }: Sender & { prefix: string },
  records: SampleRecord[],
  compression: CompressionTypes = CompressionTypes.None,
): Promise<void> {
  const byKind = Map.groupBy(records, ({ kind }) => kind);
  await Promise.all(
    [...byKind].map(([kind, messages]) =>
      sendByPartition(sender, { topic: topicOf(kind, prefix), messages, compression }),
    ),
  );
}

/** Sends the batches, each with the next of Kafka's compression codecs. Returns the number of records. */
export async function publishSampleData(
  sender: Sender & { prefix: string },
  batches: Iterable<SampleBatch>,
  onBatch: (done: number) => void = () => undefined,
): Promise<number> {
  registerCodecs();
  let recordCount = 0;
  let batchCount = 0;
  for (const { records, progress } of batches) {
    await publishRecords(sender, records, codecs[batchCount % codecs.length]);
    batchCount += 1;
    recordCount += records.length;
    onBatch(progress);
  }
  return recordCount;
}
