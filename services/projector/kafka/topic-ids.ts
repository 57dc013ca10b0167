import { createRequire } from 'node:module';

type Encoder = { writeBuffer: (bytes: Buffer) => Encoder };

/** A connected broker of kafkajs 2.2.4; its types do not include these fields. */
export type MetadataBroker = {
  versions: Record<number, { maxVersion: number }> | null;
  connectionPool: {
    send: <T>(call: {
      request: { apiKey: number; apiVersion: number; apiName: string; encode: () => Promise<Encoder> };
      response: { decode: (payload: Buffer) => Promise<T>; parse: (decoded: T) => Promise<T> };
    }) => Promise<T>;
  };
};

const KafkajsEncoder = createRequire(import.meta.url)('kafkajs/src/protocol/encoder') as new () => Encoder;

/** The Metadata request in the first usable version whose response has topic ids (Kafka 2.8 and later). */
const apiKey = 3;
const apiVersion = 11;

/** The id of a topic that was created before brokers assigned topic ids. */
const noId = '0'.repeat(32);

/**
 * Reads the ids of the topics, by name, as 32 hex digits; kafkajs itself supports the request only up to version 6.
 * Returns an empty map if the broker is too old. Topics that do not exist or have no id are omitted.
 */
export async function readTopicIds(broker: MetadataBroker, topics: string[]): Promise<Map<string, string>> {
  if ((broker.versions?.[apiKey]?.maxVersion ?? 0) < apiVersion) return new Map();
  const encode = async () => new KafkajsEncoder().writeBuffer(encodeRequest(topics));
  return broker.connectionPool.send({
    request: { apiKey, apiVersion, apiName: 'Metadata', encode },
    response: { decode: async (payload) => decodeResponse(payload), parse: async (decoded) => decoded },
  });
}

/** The tagged fields of the request header, which kafkajs omits, and the body. */
function encodeRequest(topics: string[]): Buffer {
  const noTags = Buffer.from([0]);
  const named = topics.map((topic) => {
    const name = Buffer.from(topic);
    return Buffer.concat([Buffer.alloc(16), varInt(name.length + 1), name, noTags]);
  });
  // allow_auto_topic_creation, include_topic_authorized_operations
  const flags = Buffer.from([0, 0]);
  return Buffer.concat([noTags, varInt(topics.length + 1), ...named, flags, noTags]);
}

function varInt(value: number): Buffer {
  const bytes: number[] = [];
  let remaining = value;
  for (; remaining > 0x7f; remaining >>>= 7) bytes.push((remaining & 0x7f) | 0x80);
  return Buffer.from([...bytes, remaining]);
}

/** Decodes the topic ids by name from a response that starts with the tagged fields of its header. */
export function decodeResponse(payload: Buffer): Map<string, string> {
  const cursor = createCursor(payload);
  const ids = new Map<string, string>();
  cursor.skipTags();
  // throttle_time_ms
  cursor.skip(4);
  cursor.each(() => {
    // node_id, host, port, rack
    cursor.skip(4);
    cursor.text();
    cursor.skip(4);
    cursor.text();
    cursor.skipTags();
  });
  // cluster_id, controller_id
  cursor.text();
  cursor.skip(4);
  cursor.each(() => {
    const errorCode = cursor.skip(2).readInt16BE();
    const name = cursor.text();
    const id = cursor.skip(16).toString('hex');
    // is_internal
    cursor.skip(1);
    cursor.each(() => {
      // error_code, partition_index, leader_id, leader_epoch
      cursor.skip(2 + 3 * 4);
      // replica_nodes, isr_nodes, offline_replicas
      for (let list = 0; list < 3; list += 1) cursor.each(() => cursor.skip(4));
      cursor.skipTags();
    });
    // topic_authorized_operations
    cursor.skip(4);
    cursor.skipTags();
    if (errorCode === 0 && id !== noId) ids.set(name, id);
  });
  return ids;
}

/** Reads Kafka's flexible encoding: lengths are varints, stored plus one, and 0 means null. */
function createCursor(payload: Buffer) {
  let offset = 0;
  const skip = (bytes: number): Buffer => {
    if (offset + bytes > payload.length) throw new Error('the response with the topic ids ends too early');
    offset += bytes;
    return payload.subarray(offset - bytes, offset);
  };
  const varInt = (): number => {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = skip(1).readUInt8();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const each = (read: () => unknown): void => {
    for (let left = varInt(); left > 1; left -= 1) read();
  };
  return {
    skip,
    each,
    text: (): string => skip(Math.max(0, varInt() - 1)).toString(),
    skipTags: (): void => {
      for (let left = varInt(); left > 0; left -= 1) {
        varInt();
        skip(varInt());
      }
    },
  };
}
