import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import { pino } from 'pino';
import { kindOfTopic } from '../../services/projector/events/topics.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import type { Kind } from '../../shared/documents/document.ts';
import type { Event } from '../support/events.ts';
import type { TestEnvironment } from '../support/test-environment.ts';
import { poisonHeader } from './publisher.ts';

/** A committed record as it stands in the log; `event` is null where it is poisoned. */
export type Logged = {
  topic: string;
  partition: number;
  offset: number;
  timestampMs: number;
  event: Event | null;
  /** Key and value, to find ids in. */
  text: string;
};

let readings = 0;

/** Reads the whole log back, in the order in which it counts: by time, within a partition by offset. */
export async function readLog(testEnvironment: TestEnvironment): Promise<Logged[]> {
  const { admin, config, topics } = testEnvironment;
  const open = new Map<string, number>();
  for (const topic of topics)
    for (const { partition, high } of await admin.fetchTopicOffsets(topic))
      if (Number(high) > 0) open.set(`${topic}/${partition}`, Number(high));
  const log: Logged[] = [];
  if (open.size === 0) return log;
  const groupId = `${testEnvironment.name}-oracle-${(readings += 1)}`;
  const consumer = createKafka(config, pino({ level: 'silent' })).consumer({ groupId, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: true });
  await new Promise<void>((resolve, reject) => {
    // Emitted for batches of control records too, whether they reach the handler or not.
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const key = `${payload.topic}/${payload.partition}`;
      if (Number(payload.lastOffset) + 1 >= (open.get(key) ?? 0)) open.delete(key);
      if (open.size === 0) resolve();
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    const eachBatch = async ({ batch: { topic, partition, messages } }: EachBatchPayload) => {
      for (const message of messages) log.push(logged(config.TOPIC_PREFIX, { topic, partition, message }));
    };
    consumer.run({ autoCommit: false, eachBatch }).catch(reject);
  });
  await consumer.disconnect();
  return log.sort((a, b) => a.timestampMs - b.timestampMs || a.offset - b.offset);
}

function logged(
  prefix: string,
  { topic, partition, message }: { topic: string; partition: number; message: KafkaMessage },
): Logged {
  const kind = kindOfTopic(topic, prefix);
  if (!kind) throw new Error(`${topic} is no topic of the bus`);
  const poisoned = message.headers?.[poisonHeader] !== undefined;
  const timestampMs = Number(message.timestamp);
  const event = poisoned ? null : decode(kind, message, timestampMs);
  const text = `${String(message.key)} ${String(message.value)}`;
  return { topic, partition, offset: Number(message.offset), timestampMs, event, text };
}

/** The plainest reading of either content mode, apart from the projector's. */
function decode(kind: Kind, { key, value, headers = {} }: KafkaMessage, timestampMs: number): Event {
  const text = (name: string) => String(headers[`ce_${name}`]);
  const id = String(key);
  if (!value && !headers.ce_type)
    return { kind, id, orgId: '', version: 0, op: 'tombstone', time: new Date(timestampMs) };
  const body = value && (JSON.parse(value.toString()) as Record<string, unknown>);
  const structured = !headers.ce_type;
  const attribute = (name: string) => (structured ? String(body?.[name]) : text(name));
  const data = (structured ? body?.data : body) as Record<string, unknown> | undefined;
  return {
    kind,
    id,
    orgId: attribute('orgid'),
    version: Number(attribute('entityversion')),
    op: attribute('type').split('.')[2] as Event['op'],
    time: new Date(attribute('time')),
    ...(data && { data }),
  };
}
