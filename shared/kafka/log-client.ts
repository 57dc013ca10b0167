import type { Kafka } from 'kafkajs';
import { parsePartitionKey, partitionKey, type TopicPartition } from '../control/topic-partition.ts';
import { type EpochEnd, readEpochEnds, type WantedEpochs } from './epoch-ends.ts';
import { fetchBatches, type FetchedBatches, type FetchingCluster } from './fetch-batches.ts';
import { findTopics, type FoundTopics } from './find-topics.ts';
import { type Broker, requestCreator } from './kafkajs-protocol.ts';
import {
  failureOf,
  liveBrokers,
  type MergedTopics,
  mergeTopics,
  noLeader,
  readMetadata,
  throwRefusal,
  type TopicMetadata,
} from './metadata.ts';
import { unknownEpoch } from './record-batch.ts';
import { type JoiningCluster, type JoiningMember, tryFetch, tryJoin } from './try-rights.ts';

/**
 * The offsets of a log. `low` is the first offset. `end` is the high watermark, after the last record. `stable` is the
 * last stable offset, where the first open transaction begins and reading stops; without one, it equals `end`.
 */
export type LogOffsets = { low: number; end: number; stable: number };

/** The state of the logs of some topics, as the brokers report it. */
export type LogState = {
  /** By `<topic>/<partition>`: every partition that had accepted a record when the read began. */
  partitions: string[];
  /** By `<topic>/<partition>`, of the partitions whose leader answers. */
  ends: Map<string, LogOffsets>;
  /** The epoch of each partition's leader, by `<topic>/<partition>`. An epoch rises with each election. */
  leaderEpochs: Map<string, number>;
  /** The topic ids by topic. */
  topicIds: Map<string, string>;
  /** The live brokers that did not answer. They may know partitions that no other broker knows. */
  unreachable: { broker: string; error: unknown }[];
};

export type LogClient = {
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  /** Asks every live broker which of the topics do not exist, and which ones this client may not see. */
  find: (topics: string[]) => Promise<FoundTopics>;
  /**
   * Tries to fetch from each topic, without a record. Rejects if the brokers refuse this client, and names the topics.
   * Returns why each other topic could not be tried.
   */
  tryFetch: (topics: string[]) => Promise<Map<string, string>>;
  /** Tries to join a consumer group, and changes nothing in it. Rejects if the brokers refuse this client. */
  tryJoin: (member: JoiningMember) => Promise<void>;
  /** Reads the state of the topics' logs. Rejects if no broker answers, or if the brokers refuse this client. */
  read: (topics: string[]) => Promise<LogState>;
  /** Fetches the batches of a partition from an offset on; null if the offset is outside the log. */
  fetch: (from: TopicPartition, offset: number) => Promise<FetchedBatches | null>;
  /**
   * Asks the leaders that the last `read` has found where epochs end, by `<topic>/<partition>`. Leaves out each
   * partition whose leader does not answer, or has changed since. Rejects if the brokers refuse this client.
   */
  epochEnds: (epochs: ReadonlyMap<string, number>) => Promise<Map<string, EpochEnd>>;
};

/** The methods of the kafkajs 2.2.4 cluster that are used here; its types do not include the class. */
type Cluster = Omit<FetchingCluster & JoiningCluster, 'findBroker'> & {
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  getNodeIds: () => string[];
  findBroker: (named: { nodeId: string }) => Promise<Broker>;
};

/** The isolation levels of Kafka's protocol. */
const readUncommitted = 0;
const readCommitted = 1;

/**
 * Creates a client for the logs of many topics. The client asks every live broker for the partitions, because only the
 * leader of a new partition surely knows it. The admin client of kafkajs asks one broker for one topic at a time.
 */
export function createLogClient(kafka: Kafka): LogClient {
  const cluster = createCluster(kafka);
  /** The leaders that the last read has found. */
  let lastLeaders: Leaders = { leaders: new Map(), leaderEpochs: new Map() };
  const read = async (topics: string[]): Promise<LogState> => {
    await cluster.addMultipleTargetTopics(topics);
    // Finds the live brokers. The partitions in this response of one broker are not used.
    await cluster.refreshMetadata();
    const brokers = createAskedBrokers(cluster);
    const { leaders, leaderEpochs, topicIds } = await findPartitions(brokers, topics);
    lastLeaders = { leaders, leaderEpochs };
    const ends = await readEnds(brokers, leaders);
    const unreachable = [...brokers.failed].map(([broker, error]) => ({ broker, error }));
    return { partitions: [...leaders.keys()], ends, leaderEpochs, topicIds, unreachable };
  };
  return {
    connect: () => cluster.connect(),
    disconnect: () => cluster.disconnect(),
    fetch: (from, offset) => fetchBatches(cluster, from, offset),
    epochEnds: (epochs) => askForEpochEnds(cluster, lastLeaders, epochs),
    find: (topics) => findTopics(cluster, topics),
    tryFetch: async (topics) => {
      const { ends, unreachable } = await read(topics);
      return tryFetch(cluster, topics, { ends, leaders: lastLeaders.leaders, unreachable });
    },
    tryJoin: (member) => tryJoin(cluster, member),
    read,
  };
}

/** The live brokers, in one read of the logs. */
type AskedBrokers = {
  /** The number of live brokers. */
  count: number;
  /** The errors of the brokers that have not answered, by node id. */
  failed: Map<string, unknown>;
  /** Asks each broker. Resolves once each has answered or failed. Rejects if a broker refuses this client. */
  askAll: (ask: (broker: Broker, nodeId: string) => Promise<void>) => Promise<void>;
};

function createAskedBrokers(cluster: Cluster): AskedBrokers {
  const nodeIds = liveBrokers(cluster);
  const failed = new Map<string, unknown>();
  return {
    count: nodeIds.length,
    failed,
    askAll: async (ask) => {
      const asking = nodeIds.map(async (nodeId) => {
        try {
          const broker = await cluster.findBroker({ nodeId });
          await ask(broker, nodeId);
        } catch (error) {
          throwIfRefused(error);
          failed.set(nodeId, error);
        }
      });
      await Promise.all(asking);
    },
  };
}

/** Asks each broker for the partitions of the topics. Rejects if no broker answers. */
async function findPartitions(brokers: AskedBrokers, topics: string[]): Promise<MergedTopics> {
  const { failed } = brokers;
  const found: TopicMetadata[] = [];
  await brokers.askAll(async (broker, nodeId) => {
    const metadata = await readMetadata(broker, topics);
    // The broker counts as failed, because it may be the only one that knows a partition of the topic.
    const failure = metadata.map(({ errorCode, topic }) => failureOf(errorCode, topic)).find(Boolean);
    if (failure) failed.set(nodeId, failure);
    found.push(...metadata);
  });
  const [firstFailure] = failed.values();
  if (failed.size === brokers.count) throw firstFailure as Error;
  return mergeTopics(found);
}

/** Asks each leader for the offsets of its partitions. */
async function readEnds(brokers: AskedBrokers, leaders: Leaders['leaders']): Promise<LogState['ends']> {
  const keysByLeader = Map.groupBy(leaders.keys(), (key) => String(leaders.get(key)));
  const ends: LogState['ends'] = new Map();
  await brokers.askAll(async (broker, nodeId) => {
    const offsets = await readOffsets(broker, keysByLeader.get(nodeId) ?? []);
    for (const [key, offsetsOfLog] of offsets) ends.set(key, offsetsOfLog);
  });
  return ends;
}

type Leaders = Pick<MergedTopics, 'leaders' | 'leaderEpochs'>;

/** Asks each leader where the epochs of its partitions end. The result lacks the partitions of a silent leader. */
async function askForEpochEnds(
  cluster: Cluster,
  { leaders, leaderEpochs }: Leaders,
  epochs: ReadonlyMap<string, number>,
): Promise<Map<string, EpochEnd>> {
  const ends = new Map<string, EpochEnd>();
  const ask = async (nodeId: number, keys: string[]) => {
    const wanted: WantedEpochs = new Map();
    for (const key of keys) {
      const epoch = epochs.get(key) ?? unknownEpoch;
      const leaderEpoch = leaderEpochs.get(key) ?? unknownEpoch;
      wanted.set(key, { epoch, leaderEpoch });
    }
    const broker = await cluster.findBroker({ nodeId: String(nodeId) });
    for (const [key, end] of await readEpochEnds(broker, wanted)) ends.set(key, end);
  };
  const keysByLeader = Map.groupBy(epochs.keys(), (key) => leaders.get(key) ?? noLeader);
  keysByLeader.delete(noLeader);
  await Promise.all([...keysByLeader].map(([nodeId, keys]) => ask(nodeId, keys).catch(throwIfRefused)));
  return ends;
}

/** Throws the error of a broker that refuses this client. Any other broker error may pass. */
function throwIfRefused(error: unknown): void {
  if ((error as Error).name === 'KafkaJSProtocolError') throw error;
}

/** Reads the offsets of the partitions that this broker leads. */
async function readOffsets(leader: Broker, keys: string[]): Promise<LogState['ends']> {
  if (keys.length === 0) return new Map();
  const readingLows = listOffsets(leader, keys, atStart);
  // The ends first. A stable offset below the end then shows an open transaction, not newer records.
  const readEndsThenStables = async () => {
    const ends = await listOffsets(leader, keys, atEnd, readUncommitted);
    const stables = await listOffsets(leader, keys, atEnd);
    return { ends, stables };
  };
  const [lows, { ends, stables }] = await Promise.all([readingLows, readEndsThenStables()]);
  const offsets: LogState['ends'] = new Map();
  for (const [key, end] of ends) {
    const low = lows.get(key);
    const stable = stables.get(key);
    if (low === undefined || stable === undefined) continue;
    offsets.set(key, { low, end, stable: Math.min(stable, end) });
  }
  return offsets;
}

/** Creates a cluster as `kafka.admin()` does. kafkajs keeps that method under a symbol of the instance. */
function createCluster(kafka: Kafka): Cluster {
  const name = 'private:Kafka:createCluster';
  const symbol = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === name);
  const create = symbol && (kafka as unknown as Record<symbol, (options: object) => Cluster>)[symbol];
  if (!create) throw new Error('this version of kafkajs has no createCluster where 2.2.4 has it');
  return create({ allowAutoTopicCreation: false });
}

type OffsetsRequest = {
  topics: { topic: string; partitions: { partition: number; timestamp: number }[] }[];
  isolationLevel: number;
};
type OffsetsResponse = {
  responses: { topic: string; partitions: { partition: number; errorCode: number; offset: string }[] }[];
};

const createRequest = requestCreator<OffsetsRequest, OffsetsResponse>('listOffsets', 3);

/** The timestamps that stand for the first offset in a log and for its end. */
const atStart = -2;
const atEnd = -1;

/**
 * Reads an offset of each partition from its leader, by `<topic>/<partition>`. Leaves out partitions that the broker
 * does not lead, or not yet. kafkajs would reject the whole response.
 */
async function listOffsets(leader: Broker, keys: string[], timestamp: number, isolation = readCommitted) {
  const byTopic = Map.groupBy(keys.map(parsePartitionKey), ({ topic }) => topic);
  const topics = [...byTopic].map(([topic, partitions]) => ({
    topic,
    partitions: partitions.map(({ partition }) => ({ partition, timestamp })),
  }));
  const { request, response } = createRequest({ topics, isolationLevel: isolation });
  const withErrors = { decode: response.decode, parse: async (decoded: OffsetsResponse) => decoded };
  const { responses } = await leader.connectionPool.send({ request, response: withErrors });
  const offsets = new Map<string, number>();
  for (const { topic, partitions } of responses) {
    for (const { partition, errorCode, offset } of partitions) {
      throwRefusal(errorCode, topic);
      if (errorCode === 0) offsets.set(partitionKey({ topic, partition }), Number(offset));
    }
  }
  return offsets;
}
