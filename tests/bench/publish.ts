import { CompressionTypes, type Admin, type Producer } from 'kafkajs';
import { encode, type Event } from '../../infra/sample-data/encode.ts';
import { generateSampleData } from '../../infra/sample-data/sample-data.ts';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { topicOf, topicsOf } from '../../shared/kafka/topics.ts';
import { logEnds, type Offsets } from '../support/progress.ts';

export const partitionsPerTopic = 3;
const recordsPerRequest = 500;

export type Published = {
  prefix: string;
  topics: string[];
  /** The number of records, which is that of the documents: each entity is published once. */
  records: number;
  ends: Offsets;
};

/** Creates the topics under `prefix`, and publishes each entity of the sample data once. */
export async function publishDataset(
  { admin, producer }: { admin: Admin; producer: Producer },
  tickets: number,
  prefix: string,
): Promise<Published> {
  await createTopics(admin, prefix, { partitions: partitionsPerTopic });
  const topics = topicsOf(prefix);
  const size = { tickets, contacts: Math.ceil(tickets / 3), longestConversation: 20 };
  const { events } = generateSampleData({ seed: 1, size, now: new Date('2026-11-01') });
  let records = 0;
  let waiting: Event[] = [];
  const send = async () => {
    records += waiting.length;
    await publishEvents(producer, waiting, prefix);
    waiting = [];
  };
  for (const event of events) {
    if (event?.version === 1) waiting.push(event);
    if (waiting.length >= recordsPerRequest) await send();
  }
  await send();
  const ends = await logEnds(admin, topics);
  return { prefix, topics, records, ends };
}

/** CloudEvents in structured mode: every contender can read them as plain JSON. */
async function publishEvents(producer: Producer, events: Event[], prefix: string): Promise<void> {
  const byTopic = Map.groupBy(events, ({ kind }) => topicOf(kind, prefix));
  const topicMessages = [...byTopic].map(([topic, some]) => ({
    topic,
    messages: some.map((event) => encode(event, 'structured')),
  }));
  await producer.sendBatch({ topicMessages, compression: CompressionTypes.GZIP });
}
