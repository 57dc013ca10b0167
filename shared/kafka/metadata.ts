import kafkajs from 'kafkajs';
import { partitionKey } from '../control/topic-partition.ts';
import { type Broker, createDecoder, createEncoder, type Decoder, type Encoder } from './kafkajs-protocol.ts';
import { createErrorFromCode, topicAuthorizationFailed, topicsRefused } from './protocol-errors.ts';

/** Kafka's node id in place of the leader of a partition that has none. */
export const noLeader = -1;

/** The node ids of the live brokers, as the last metadata names them. Throws if it names none. */
export function liveBrokers(cluster: { getNodeIds: () => string[] }): string[] {
  const nodeIds = cluster.getNodeIds();
  if (nodeIds.length === 0) throw new kafkajs.KafkaJSConnectionError('the brokers report no live broker');
  return nodeIds;
}

/** A topic as one broker knows it. */
export type TopicMetadata = {
  errorCode: number;
  topic: string;
  /** 32 hex digits. All are 0 for a topic that was created before brokers assigned ids. */
  topicId: string;
  /** `leader` is a node id, or `noLeader`. The leader's epoch rises with each election. */
  partitions: { partition: number; leader: number; leaderEpoch: number }[];
};

/** Kafka's code for a broker that has failed at one topic or partition. kafkajs marks it as not retriable. */
const unknownServerError = -1;

/** Throws the error of a broker that refuses the request, such as a missing permission, so that no retry helps. */
export function throwRefusal(errorCode: number, topic: string): void {
  if (errorCode === 0 || errorCode === unknownServerError) return;
  if (errorCode === topicAuthorizationFailed) throw topicsRefused([topic]);
  const error = createErrorFromCode(errorCode);
  if (!error.retriable) throw error;
}

/** Returns the error of a broker that has failed at a topic; null for a transient error. Throws a refusal. */
export function failureOf(errorCode: number, topic: string): Error | null {
  throwRefusal(errorCode, topic);
  return errorCode === unknownServerError ? createErrorFromCode(errorCode) : null;
}

/** The Metadata request in the first usable version whose response has topic ids (Kafka 2.8 and later). */
const apiKey = 3;
const apiVersion = 11;

/**
 * Reads the metadata of the topics as this broker knows it. kafkajs itself supports the request only up to version 6,
 * without topic ids and leader epochs, and rejects a response in which one partition has no leader.
 */
export async function readMetadata(broker: Broker, topics: string[]): Promise<TopicMetadata[]> {
  const offered = broker.versions?.[apiKey]?.maxVersion ?? 0;
  if (offered < apiVersion)
    throw new Error(
      `the brokers offer Metadata up to version ${offered}; the projector needs version ${apiVersion} (Kafka 2.8)`,
    );
  return broker.connectionPool.send({
    request: { apiKey, apiVersion, apiName: 'Metadata', encode: async () => encodeRequest(topics) },
    response: { decode: async (payload) => decodeResponse(payload), parse: async (decoded) => decoded },
  });
}

/** The tagged fields of the request header, which kafkajs omits, and the body. */
function encodeRequest(topics: string[]): Encoder {
  const noTags = 0;
  const named = topics.map((topic) =>
    createEncoder().writeBuffer(Buffer.alloc(16)).writeUVarIntString(topic).writeUVarInt(noTags),
  );
  return (
    createEncoder()
      .writeUVarInt(noTags)
      .writeUVarIntArray(named)
      // allow_auto_topic_creation, include_topic_authorized_operations
      .writeBoolean(false)
      .writeBoolean(false)
      .writeUVarInt(noTags)
  );
}

/** Decodes a response that starts with the tagged fields of its header. */
export function decodeResponse(payload: Buffer): TopicMetadata[] {
  const decoder = createDecoder(payload);
  skipTags(decoder);
  // throttle_time_ms
  decoder.readInt32();
  decoder.readUVarIntArray(skipBroker);
  // cluster_id, controller_id
  decoder.readUVarIntString();
  decoder.readInt32();
  return decoder.readUVarIntArray(decodeTopic) ?? [];
}

function skipBroker(decoder: Decoder): void {
  // node_id, host, port, rack
  decoder.readInt32();
  decoder.readUVarIntString();
  decoder.readInt32();
  decoder.readUVarIntString();
  skipTags(decoder);
}

function decodeTopic(decoder: Decoder): TopicMetadata {
  const errorCode = decoder.readInt16();
  const topic = decoder.readUVarIntString() ?? '';
  const topicId = decoder.buffer.toString('hex', decoder.offset, decoder.offset + 16);
  // is_internal
  decoder.offset += 16 + 1;
  const partitions = decoder.readUVarIntArray(decodePartition) ?? [];
  // topic_authorized_operations
  decoder.readInt32();
  skipTags(decoder);
  return { errorCode, topic, topicId, partitions };
}

function decodePartition(decoder: Decoder): TopicMetadata['partitions'][number] {
  const errorCode = decoder.readInt16();
  const partition = decoder.readInt32();
  const leader = decoder.readInt32();
  const leaderEpoch = decoder.readInt32();
  // replica_nodes, isr_nodes, offline_replicas
  for (let list = 0; list < 3; list += 1) decoder.readUVarIntArray((node) => node.readInt32());
  skipTags(decoder);
  return { partition, leader: errorCode === 0 ? leader : noLeader, leaderEpoch };
}

/** kafkajs's own `readTaggedFields` reads one byte less than each field has. */
function skipTags(decoder: Decoder): void {
  for (let unread = decoder.readUVarInt(); unread > 0; unread -= 1) {
    decoder.readUVarInt();
    const bytes = decoder.readUVarInt();
    decoder.offset += bytes;
  }
}

/** The id of a topic that was created before brokers assigned topic ids. */
const noId = '0'.repeat(32);

/** The answers of several brokers about topics. */
export type MergedTopics = {
  /** The node id of each partition's latest leader, by `<topic>/<partition>`, or `noLeader`. */
  leaders: Map<string, number>;
  /** The epoch of that leader. */
  leaderEpochs: Map<string, number>;
  /** The topic ids by topic. */
  topicIds: Map<string, string>;
};

/**
 * Merges the answers of several brokers. The leader of the latest epoch wins. If the brokers disagree about the id of a
 * topic, the topic has just been created again, and some brokers still know the former one. The result then lacks its
 * id and its leaders.
 */
export function mergeTopics(answers: TopicMetadata[]): MergedTopics {
  const leaders = new Map<string, number>();
  const leaderEpochs = new Map<string, number>();
  const topicIds = new Map<string, string>();
  const known = answers.filter(({ errorCode }) => errorCode === 0);
  for (const [topic, copies] of Map.groupBy(known, (answer) => answer.topic)) {
    const [topicId = noId, ...otherIds] = new Set(copies.map((copy) => copy.topicId));
    if (otherIds.length === 0 && topicId !== noId) topicIds.set(topic, topicId);
    const partitions = copies
      .flatMap((copy) => copy.partitions)
      .toSorted((a, b) => a.leaderEpoch - b.leaderEpoch);
    for (const { partition, leader, leaderEpoch } of partitions) {
      const key = partitionKey({ topic, partition });
      leaders.set(key, otherIds.length === 0 ? leader : noLeader);
      leaderEpochs.set(key, leaderEpoch);
    }
  }
  return { leaders, leaderEpochs, topicIds };
}
