import { CompressionTypes, type Admin, type Producer } from 'kafkajs';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { logEnds, type Offsets } from '../support/progress.ts';
import { recordOf, type Dataset } from './dataset.ts';

export const partitionsPerTopic = 3;

/** A published dataset and its topics. */
export type Published = {
  dataset: Dataset;
  prefix: string;
  topics: string[];
  /** The expected number of documents: each entity was published once. */
  entities: number;
  /** The records of the log: more than the entities if the producer has sent some twice. */
  records: number;
  bytes: number;
  /** The log's end by `<topic>/<partition>`. */
  ends: Offsets;
  /** The last record of each partition: once the store has these ids, it has all others. */
  lastIds: { kind: Kind; id: string }[];
};

const recordsPerRequest = 500;

/** Creates the topics under `prefix` and publishes the dataset, one topic after the other. */
export async function publishDataset(
  { admin, producer }: { admin: Admin; producer: Producer },
  dataset: Dataset,
  prefix: string,
): Promise<Published> {
  await createTopics(admin, prefix, partitionsPerTopic);
  const topics = kinds.map((kind) => topicOf(kind, prefix));
  await logEnds(admin, topics);
  const lastIds = new Map<string, { kind: Kind; id: string }>();
  let [entities, bytes] = [0, 0];
  for (const kind of kinds) {
    const topic = topicOf(kind, prefix);
    for (let from = 0; from < dataset.counts[kind]; from += recordsPerRequest) {
      const size = Math.min(recordsPerRequest, dataset.counts[kind] - from);
      const messages = Array.from({ length: size }, (_, index) => {
        const record = recordOf(dataset.event(kind, from + index));
        return { ...record, partition: partitionOf(record.key) };
      });
      for (const { key, value, partition } of messages) {
        lastIds.set(`${topic}/${partition}`, { kind, id: key });
        bytes += Buffer.byteLength(value ?? '');
      }
      entities += size;
      await producer.send({ topic, messages, compression: CompressionTypes.GZIP });
    }
  }
  const ends = await logEnds(admin, topics);
  const records = [...ends.values()].reduce((total, end) => total + end, 0);
  return { dataset, prefix, topics, entities, records, bytes, ends, lastIds: [...lastIds.values()] };
}

/** The publisher chooses the partition, not the client, so that it knows the last record of each partition. */
export const partitionOf = (key: string): number =>
  [...key].reduce((hash, character) => (hash * 31 + character.charCodeAt(0)) % 65_521, 7) %
  partitionsPerTopic;
