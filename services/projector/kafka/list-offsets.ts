import { createRequire } from 'node:module';
import { throwUnlessRetriable, type Broker, type ProtocolCall } from './metadata.ts';
import { parsePartitionKey, partitionKey } from './topic-partition.ts';

type Wanted = { topic: string; partitions: { partition: number; timestamp: number }[] };
type Listed = {
  responses: {
    topic: string;
    partitions: { partition: number; errorCode: number; offset: string }[];
  }[];
};
type ListOffsets = (options: { topics: Wanted[] }) => ProtocolCall<Listed>;

const { protocol } = createRequire(import.meta.url)('kafkajs/src/protocol/requests/listOffsets') as {
  protocol: (options: { version: number }) => ListOffsets;
};
/** It reads as a consumer does that skips open transactions. */
const createRequest = protocol({ version: 3 });

/** The timestamps that stand for the first offset in a log and for its end. */
export const [atStart, atEnd] = [-2, -1];

/**
 * Reads an offset of each partition, by `<topic>/<partition>`, from their leader. Partitions that the broker does not
 * lead, or not yet, are left out: kafkajs rejects the whole response instead.
 */
export async function listOffsets(
  leader: Broker,
  keys: string[],
  timestamp: number,
): Promise<Map<string, number>> {
  const byTopic = Map.groupBy(keys.map(parsePartitionKey), ({ topic }) => topic);
  const topics = [...byTopic].map(([topic, partitions]) => ({
    topic,
    partitions: partitions.map(({ partition }) => ({ partition, timestamp })),
  }));
  const { request, response } = createRequest({ topics });
  const withErrors = { decode: response.decode, parse: async (decoded: Listed) => decoded };
  const { responses } = await leader.connectionPool.send({ request, response: withErrors });
  const offsets = new Map<string, number>();
  for (const { topic, partitions } of responses)
    for (const { partition, errorCode, offset } of partitions) {
      throwUnlessRetriable(errorCode);
      if (errorCode === 0) offsets.set(partitionKey({ topic, partition }), Number(offset));
    }
  return offsets;
}
