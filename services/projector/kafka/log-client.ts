import type { Kafka } from 'kafkajs';
import { readTopicIds, type MetadataBroker } from './topic-ids.ts';
import { partitionKey } from './topic-partition.ts';

/** Offsets by `<topic>/<partition>`. */
export type Offsets = Map<string, number>;

/** Reads offsets and topic ids of many topics at once, with one request to each broker. */
export type LogClient = {
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  /** The last stable offsets: the records of an open transaction count once it is committed. */
  readEnds: (topics: string[]) => Promise<Offsets>;
  /** The first offsets that are still in the logs. */
  readStarts: (topics: string[]) => Promise<Offsets>;
  /** The topic ids by topic. Brokers before Kafka 2.8 have no topic ids; the map is empty then. */
  readTopicIds: (topics: string[]) => Promise<Map<string, string>>;
};

/** The methods of the kafkajs 2.2.4 cluster that are used here; its types do not include the class. */
type Cluster = {
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  addMultipleTargetTopics: (topics: string[]) => Promise<void>;
  refreshMetadataIfNecessary: () => Promise<void>;
  findTopicPartitionMetadata: (topic: string) => { partitionId: number }[];
  fetchTopicsOffset: (
    topics: { topic: string; fromBeginning: boolean; partitions: { partition: number }[] }[],
  ) => Promise<{ topic: string; partitions: { partition: number; offset: string }[] }[]>;
  brokerPool: { withBroker: <T>(use: (found: { broker: MetadataBroker }) => Promise<T>) => Promise<T> };
};

/** An added partition or a new leader is noticed within this time. */
const metadataMaxAgeMs = 10_000;

/**
 * Creates a client for the logs of many topics. The kafkajs admin reads the offsets of one topic at a time, in two
 * requests, and never refreshes its metadata. The cluster, which the admin itself uses, has neither limit.
 */
export function createLogClient(kafka: Kafka): LogClient {
  const cluster = createCluster(kafka);
  const read = async (topics: string[], fromBeginning: boolean): Promise<Offsets> => {
    await cluster.addMultipleTargetTopics(topics);
    await cluster.refreshMetadataIfNecessary();
    const wanted = topics.map((topic) => {
      const partitions = cluster
        .findTopicPartitionMetadata(topic)
        .map(({ partitionId }) => ({ partition: partitionId }));
      return { topic, fromBeginning, partitions };
    });
    const found = await cluster.fetchTopicsOffset(wanted);
    return new Map(
      found.flatMap(({ topic, partitions }) =>
        partitions.map(
          ({ partition, offset }) => [partitionKey({ topic, partition }), Number(offset)] as const,
        ),
      ),
    );
  };
  return {
    connect: () => cluster.connect(),
    disconnect: () => cluster.disconnect(),
    readEnds: (topics) => read(topics, false),
    readStarts: (topics) => read(topics, true),
    readTopicIds: async (topics) => {
      await cluster.addMultipleTargetTopics(topics);
      return cluster.brokerPool.withBroker(({ broker }) => readTopicIds(broker, topics));
    },
  };
}

/** Creates a cluster as `kafka.admin()` does. kafkajs keeps that method under a symbol. */
function createCluster(kafka: Kafka): Cluster {
  for (let object: object | null = kafka; object; object = Object.getPrototypeOf(object) as object | null) {
    const symbol = Object.getOwnPropertySymbols(object).find(
      ({ description }) => description === 'private:Kafka:createCluster',
    );
    if (!symbol) continue;
    const create = (kafka as unknown as Record<symbol, (options: object) => Cluster>)[symbol];
    if (create) return create({ allowAutoTopicCreation: false, metadataMaxAge: metadataMaxAgeMs });
  }
  throw new Error('this version of kafkajs has no createCluster where 2.2.4 has it');
}
