import { parsePartitionKey, partitionKey } from '../control/topic-partition.ts';
import { type Broker, createDecoder, createEncoder, type Encoder } from './kafkajs-protocol.ts';
import { throwRefusal } from './metadata.ts';

/**
 * The end of a leader epoch in the log of the current leader. `leaderEpoch` is the requested epoch, or the latest
 * earlier one in that log. `endOffset` is the offset after its last record. Both are -1 if the log has neither epoch.
 */
export type EpochEnd = { leaderEpoch: number; endOffset: number };

/** By `<topic>/<partition>`: the `epoch` whose end is requested, and the `leaderEpoch` of the current leader. */
export type WantedEpochs = Map<string, { epoch: number; leaderEpoch: number }>;

/** OffsetForLeaderEpoch, which kafkajs does not implement, in the version for consumers (Kafka 2.3 to 4). */
const apiKey = 23;
const apiVersion = 3;

/** The replica id in the request of a client that is not a replica. */
const consumerId = -1;

/**
 * Asks the leader of some partitions for the end of one epoch of each partition. The result lacks the partitions that
 * the broker does not lead in `leaderEpoch`. Rejects if the broker refuses this client. Requires the Describe ACL on
 * the topics.
 */
export async function readEpochEnds(leader: Broker, wanted: WantedEpochs): Promise<Map<string, EpochEnd>> {
  const decoded = await leader.connectionPool.send({
    request: {
      apiKey,
      apiVersion,
      apiName: 'OffsetForLeaderEpoch',
      encode: async () => encodeRequest(wanted),
    },
    response: { decode: async (payload) => decodeResponse(payload), parse: async (ends) => ends },
  });
  const ends = new Map<string, EpochEnd>();
  for (const { key, errorCode, ...end } of decoded) {
    throwRefusal(errorCode, parsePartitionKey(key).topic);
    if (errorCode === 0) ends.set(key, end);
  }
  return ends;
}

function encodeRequest(wanted: WantedEpochs): Encoder {
  const partitions = [...wanted].map(([key, epochs]) => ({ ...parsePartitionKey(key), ...epochs }));
  const topics: Encoder[] = [];
  for (const [topic, topicPartitions] of Map.groupBy(partitions, (partition) => partition.topic)) {
    const encoded = topicPartitions.map(({ partition, leaderEpoch, epoch }) =>
      createEncoder().writeInt32(partition).writeInt32(leaderEpoch).writeInt32(epoch),
    );
    topics.push(createEncoder().writeString(topic).writeArray(encoded));
  }
  return createEncoder().writeInt32(consumerId).writeArray(topics);
}

function decodeResponse(payload: Buffer) {
  const decoder = createDecoder(payload);
  // throttle_time_ms
  decoder.readInt32();
  const topics = decoder.readArray(() => {
    const topic = decoder.readString();
    return decoder.readArray(() => {
      const errorCode = decoder.readInt16();
      const key = partitionKey({ topic, partition: decoder.readInt32() });
      const leaderEpoch = decoder.readInt32();
      return { key, errorCode, leaderEpoch, endOffset: Number(decoder.readInt64()) };
    });
  });
  return topics.flat();
}
