import { CompressionTypes, type Admin, type Producer } from 'kafkajs';
import { pino } from 'pino';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { projectorConfig } from '../../services/projector/config.ts';
import { topicOf, topicsOf } from '../../shared/kafka/topics.ts';
import { partitionKey } from '../../shared/control/topic-partition.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import { registerCodecs } from './codecs.ts';
import type { SampleBatch } from './sample-data.ts';
import type { SampleRecord } from './encode.ts';

const codecs = [
  CompressionTypes.ZSTD,
  CompressionTypes.LZ4,
  CompressionTypes.Snappy,
  CompressionTypes.GZIP,
  CompressionTypes.None,
];

/** Connects to the Kafka of a projector's settings. */
export async function connectKafka(settings: Record<string, string | undefined>) {
  const config = configOrExit(projectorConfig(settings));
  const { TOPIC_PREFIX: prefix } = config;
  const kafka = createKafka(config, pino({ level: 'silent' }));
  const [admin, producer] = [kafka.admin(), kafka.producer({ allowAutoTopicCreation: false })];
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
    create: () => createTopics(admin, prefix, { partitions: 3 }),
    close,
  };
}

/** The last stable offset of each partition of the topics, by `<topic>/<partition>`. */
export async function endOffsets(admin: Pick<Admin, 'fetchTopicOffsets'>, topics: string[]) {
  const ends = topics.map(async (topic) =>
    (await admin.fetchTopicOffsets(topic)).map(
      ({ partition, high }) => [partitionKey({ topic, partition }), Number(high)] as const,
    ),
  );
  return new Map((await Promise.all(ends)).flat());
}

/** Sends records; records with the same key keep their order. */
export async function publishRecords(
  { producer, prefix }: { producer: Producer; prefix: string },
  records: SampleRecord[],
  compression: CompressionTypes = CompressionTypes.None,
): Promise<void> {
  const byKind = Map.groupBy(records, ({ kind }) => kind);
  const topicMessages = [...byKind].map(([kind, messages]) => ({ topic: topicOf(kind, prefix), messages }));
  if (topicMessages.length > 0) await producer.sendBatch({ topicMessages, compression });
}

/** Sends the batches, each with the next of Kafka's compression codecs. Returns the number of records. */
export async function publishSampleData(
  kafkaTopics: { producer: Producer; prefix: string },
  batches: Iterable<SampleBatch>,
  onBatch: (done: number) => void = () => undefined,
): Promise<number> {
  registerCodecs();
  let sent = 0;
  let turn = 0;
  for (const { records, progress } of batches) {
    await publishRecords(kafkaTopics, records, codecs[turn++ % codecs.length]);
    sent += records.length;
    onBatch(progress);
  }
  return sent;
}
