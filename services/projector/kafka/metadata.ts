import { createRequire } from 'node:module';
import type { Broker, BrokerAddress } from './broker-pool.ts';

/** The parts of a kafkajs 2.2.4 encoder and decoder that are used here; the package declares no types for them. */
type Encoder = {
  writeBuffer: (bytes: Buffer) => Encoder;
  writeBoolean: (value: boolean) => Encoder;
  writeUVarInt: (value: number) => Encoder;
  writeUVarIntString: (value: string) => Encoder;
  writeUVarIntArray: (items: Encoder[]) => Encoder;
};
type Decoder = {
  buffer: Buffer;
  offset: number;
  readInt16: () => number;
  readInt32: () => number;
  readUVarInt: () => number;
  readUVarIntString: () => string | null;
  readUVarIntArray: <T>(read: (decoder: Decoder) => T) => T[] | null;
};

/** A topic as one broker knows it. */
export type TopicMetadata = {
  errorCode: number;
  topic: string;
  /** 32 hex digits. All are 0 for a topic that was created before brokers assigned ids. */
  topicId: string;
  /** `leader` is a node id, -1 for none. Its epoch rises with each election. */
  partitions: { partition: number; leader: number; leaderEpoch: number }[];
};

/** The live brokers and the topics as one broker knows them. */
export type Metadata = { brokers: BrokerAddress[]; topics: TopicMetadata[] };

const require = createRequire(import.meta.url);
const KafkajsEncoder = require('kafkajs/src/protocol/encoder') as new () => Encoder;
const KafkajsDecoder = require('kafkajs/src/protocol/decoder') as new (payload: Buffer) => Decoder;

/** The Metadata request in the first usable version whose response has topic ids (Kafka 2.8 and later). */
const apiKey = 3;
const apiVersion = 11;

/**
 * Reads the metadata of the topics as this broker knows it. kafkajs itself supports the request only up to version 6,
 * without topic ids and leader epochs, and rejects a response in which one partition has no leader.
 */
export async function readMetadata(broker: Broker, topics: string[]): Promise<Metadata> {
  if ((broker.versions?.[apiKey]?.maxVersion ?? 0) < apiVersion)
    throw new Error('the brokers are older than Kafka 2.8, which the projector needs');
  return broker.connectionPool.send({
    request: { apiKey, apiVersion, apiName: 'Metadata', encode: async () => encodeRequest(topics) },
    response: { decode: async (payload) => decodeResponse(payload), parse: async (decoded) => decoded },
  });
}

/** The tagged fields of the request header, which kafkajs omits, and the body. */
function encodeRequest(topics: string[]): Encoder {
  const noTags = 0;
  const named = topics.map((topic) =>
    new KafkajsEncoder().writeBuffer(Buffer.alloc(16)).writeUVarIntString(topic).writeUVarInt(noTags),
  );
  return (
    new KafkajsEncoder()
      .writeUVarInt(noTags)
      .writeUVarIntArray(named)
      // allow_auto_topic_creation, include_topic_authorized_operations
      .writeBoolean(false)
      .writeBoolean(false)
      .writeUVarInt(noTags)
  );
}

/** Decodes a response that starts with the tagged fields of its header. */
export function decodeResponse(payload: Buffer): Metadata {
  const decoder = new KafkajsDecoder(payload);
  skipTags(decoder);
  // throttle_time_ms
  decoder.readInt32();
  const brokers = decoder.readUVarIntArray(decodeBroker) ?? [];
  // cluster_id, controller_id
  decoder.readUVarIntString();
  decoder.readInt32();
  return { brokers, topics: decoder.readUVarIntArray(decodeTopic) ?? [] };
}

function decodeBroker(decoder: Decoder): BrokerAddress {
  const nodeId = decoder.readInt32();
  const host = decoder.readUVarIntString() ?? '';
  const port = decoder.readInt32();
  // rack
  decoder.readUVarIntString();
  skipTags(decoder);
  return { nodeId, host, port };
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
  return { partition, leader: errorCode === 0 ? leader : -1, leaderEpoch };
}

/** kafkajs's own `readTaggedFields` reads one byte less than each field has. */
function skipTags(decoder: Decoder): void {
  for (let left = decoder.readUVarInt(); left > 0; left -= 1) {
    decoder.readUVarInt();
    const bytes = decoder.readUVarInt();
    decoder.offset += bytes;
  }
}
