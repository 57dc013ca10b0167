import { createRequire } from 'node:module';
import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import { pino } from 'pino';
import { registerCodecs } from '../../infra/sample-data/codecs.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import type { BatchMessage } from '../../shared/kafka/fetch-decoder.ts';
import { kindOfTopic } from '../../shared/kafka/topics.ts';
import { poisonHeader } from '../convergence/publisher.ts';
import { decode, type Event } from '../support/events.ts';
import { logEnds } from '../support/progress.ts';
import type { TestEnvironment } from '../support/test-environment.ts';

/** A committed record of the log; `event` is null for a poisoned record. */
export type Logged = {
  topic: string;
  partition: number;
  offset: number;
  timestampMs: number;
  event: Event | null;
};

let readings = 0;

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object;
/** The decoder of kafkajs, which is independent of the projector's. */
const decodeBatch = require('kafkajs/src/protocol/recordBatch/v0/decoder') as (
  decoder: object,
) => Promise<{ records: KafkaMessage[] }>;

/** Reads the whole log, ordered by time, and by offset within a partition. */
export async function readLog(testEnvironment: TestEnvironment): Promise<Logged[]> {
  registerCodecs();
  const { admin, config, topics } = testEnvironment;
  const ends = await logEnds(admin, topics);
  const unreadEnds = new Map([...ends].filter(([, end]) => end > 0));
  if (unreadEnds.size === 0) return [];
  /** By position, because a consumer that starts again reads the log from its beginning. */
  const log = new Map<string, Logged>();
  const groupId = `${testEnvironment.name}-oracle-${(readings += 1)}`;
  const consumer = createKafka(config, pino({ level: 'silent' })).consumer({ groupId, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: true });
  await new Promise<void>((resolve, reject) => {
    // Batches of control records do not reach the handler, but kafkajs emits this event for them as well.
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const key = `${payload.topic}/${payload.partition}`;
      if (Number(payload.lastOffset) + 1 >= (unreadEnds.get(key) ?? 0)) unreadEnds.delete(key);
      if (unreadEnds.size === 0) resolve();
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      // kafkajs starts the consumer again while the coordinator of its group is loading.
      if (!payload.restart) reject(payload.error);
    });
    const eachBatch = async ({ batch: { topic, partition, messages } }: EachBatchPayload) => {
      for (const { batch } of messages as unknown as BatchMessage[]) {
        const { records } = await decodeBatch(new Decoder(batch.bytes));
        for (const message of records) {
          const record = { topic, partition, message };
          log.set(`${topic}/${partition}/${message.offset}`, decodeRecord(config.TOPIC_PREFIX, record));
        }
      }
    };
    consumer.run({ autoCommit: false, eachBatch }).catch(reject);
  });
  await consumer.disconnect();
  return [...log.values()].sort((a, b) => a.timestampMs - b.timestampMs || a.offset - b.offset);
}

function decodeRecord(
  prefix: string,
  { topic, partition, message }: { topic: string; partition: number; message: KafkaMessage },
): Logged {
  const kind = kindOfTopic(topic, prefix);
  if (!kind) throw new Error(`${topic} is no topic of a resource`);
  const isPoisoned = message.headers?.[poisonHeader] !== undefined;
  const timestampMs = Number(message.timestamp);
  const event = isPoisoned ? null : decode(kind, message);
  return { topic, partition, offset: Number(message.offset), timestampMs, event };
}
