import { CompressionTypes, type Admin, type Producer } from 'kafkajs';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { logEnds, type Offsets } from '../support/progress.ts';
import { createRandom } from '../support/random.ts';
import type { Dataset } from './dataset.ts';

export const partitionsPerTopic = 3;
const recordsPerRequest = 500;

/** A published dataset and its topics. */
export type Published = {
  dataset: Dataset;
  prefix: string;
  topics: string[];
  /** The expected number of documents: each entity was published once. */
  entities: number;
  /** The records of the log: more than the entities if the producer has sent some twice. */
  records: number;
  /** The log's end by `<topic>/<partition>`. */
  ends: Offsets;
  /** The last record of each partition: once the store has these ids, it has all others. */
  lastIds: { kind: Kind; id: string }[];
};

/** Creates the topics under `prefix` and publishes the dataset, one topic after the other. */
export async function publishDataset(
  { admin, producer }: { admin: Admin; producer: Producer },
  dataset: Dataset,
  prefix: string,
): Promise<Published> {
  await createTopics(admin, prefix, partitionsPerTopic);
  const topics = kinds.map((kind) => topicOf(kind, prefix));
  const lastIds = new Map<string, { kind: Kind; id: string }>();
  let entities = 0;
  for (const kind of kinds) {
    const topic = topicOf(kind, prefix);
    for (let from = 0; from < dataset.counts[kind]; from += recordsPerRequest) {
      const size = Math.min(recordsPerRequest, dataset.counts[kind] - from);
      const messages = Array.from({ length: size }, (_, index) => {
        const record = dataset.record(kind, from + index);
        return { ...record, partition: choosePartition(record.key) };
      });
      for (const { key, partition } of messages) lastIds.set(`${topic}/${partition}`, { kind, id: key });
      entities += size;
      await producer.send({ topic, messages, compression: CompressionTypes.GZIP });
    }
  }
  const ends = await logEnds(admin, topics);
  const records = [...ends.values()].reduce((total, end) => total + end, 0);
  return { dataset, prefix, topics, entities, records, ends, lastIds: [...lastIds.values()] };
}

/** The publisher chooses the partition, not the client, so that it knows the last record of each partition. */
const choosePartition = (key: string): number =>
  [...key].reduce((hash, character) => (hash * 31 + character.charCodeAt(0)) % 65_521, 7) %
  partitionsPerTopic;

/** An event among others of its request. */
export type Sample = {
  kind: Kind;
  id: string;
  version: number;
  /** When it was passed to the producer, as `performance.now()`. */
  publishedMs: number;
};

/** Publishes the next live events in one request; returns one of them as a sample. */
type PublishLive = (count: number) => Promise<Sample>;

/** Live events about a dataset: three of five are new messages, the others update a ticket or a conversation. */
export function createTraffic(producer: Producer, { dataset, prefix }: Published): PublishLive {
  const random = createRandom(1);
  const versions = new Map<string, number>();
  let messages = dataset.counts.message;
  const next = () => {
    const kind = random.pick(['message', 'message', 'message', 'ticket', 'conversation'] as const);
    const number = kind === 'message' ? messages++ : random.int(dataset.counts[kind]);
    const version = kind === 'message' ? 1 : (versions.get(`${kind}/${number}`) ?? 1) + 1;
    versions.set(`${kind}/${number}`, version);
    return { kind, version, record: dataset.record(kind, number, version, new Date()) };
  };
  return async (count) => {
    const events = Array.from({ length: count }, next);
    const { kind, version, record } = random.pick(events);
    const byTopic = Map.groupBy(events, ({ kind }) => topicOf(kind, prefix));
    const topicMessages = [...byTopic].map(([topic, some]) => ({
      topic,
      messages: some.map(({ record: one }) => ({ ...one, partition: choosePartition(one.key) })),
    }));
    const publishedMs = performance.now();
    await producer.sendBatch({ topicMessages });
    return { kind, id: record.key, version, publishedMs };
  };
}
