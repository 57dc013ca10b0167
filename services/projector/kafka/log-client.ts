import type { Kafka } from 'kafkajs';
import { readTopicIds, type MetadataBroker } from './topic-ids.ts';

/** Offsets by `<topic>/<partition>`. */
export type Offsets = Map<string, number>;

/** What the brokers say of the logs, each for all topics in one request a broker. */
export type LogClient = {
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  /**
   * The ends of what a reader of committed records is given: records of an open transaction count from its
   * commit on.
   */
  readEnds: (topics: string[]) => Promise<Offsets>;
  /** The first offsets that are still there. */
  readStarts: (topics: string[]) => Promise<Offsets>;
  /** By topic, the id that it was created with; brokers before Kafka 2.8 have none, and the map is empty. */
  readTopicIds: (topics: string[]) => Promise<Map<string, string>>;
};

/** The parts of kafkajs 2.2.4's cluster that are used here; its types leave the class out. */
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

/** A partition that is added, or a leader that has moved, is noticed within this time. */
const metadataMaxAgeMs = 10_000;

/**
 * A client for the logs of many topics. kafkajs's admin asks for the offsets of one topic at a time, in two
 * requests, and never reads its metadata again; its cluster does neither, and is what the admin itself uses.
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
        partitions.map(({ partition, offset }) => [`${topic}/${partition}`, Number(offset)] as const),
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

/** A cluster as `kafka.admin()` makes it, whose method kafkajs keeps under a symbol. */
function createCluster(kafka: Kafka): Cluster {
  for (let object: object | null = kafka; object; object = Object.getPrototypeOf(object) as object | null) {
    const symbol = Object.getOwnPropertySymbols(object).find(
      ({ description }) => description === 'private:Kafka:createCluster',
    );
    if (!symbol) continue;
    const create = (kafka as unknown as Record<symbol, (options: object) => Cluster>)[symbol];
    if (create) return create({ allowAutoTopicCreation: false, metadataMaxAge: metadataMaxAgeMs });
  }
  throw new Error('this version of kafkajs has no cluster where 2.2.4 has it');
}
