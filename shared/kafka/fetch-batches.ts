import kafkajs from 'kafkajs';
import { partitionKey, type TopicPartition } from '../control/topic-partition.ts';
import type { BatchMessage, ErrorMessage, ThrottleMessage } from './fetch-decoder.ts';
import { noLeader } from './metadata.ts';
import { protocolErrorText } from './protocol-errors.ts';
import type { RawBatch } from './record-batch.ts';

/** The parts of a kafkajs 2.2.4 cluster and broker that fetch; the types of the package do not include them. */
export type FetchingCluster = {
  addMultipleTargetTopics: (topics: string[]) => Promise<void>;
  refreshMetadata: () => Promise<void>;
  findLeaderForPartitions: (topic: string, partitions: number[]) => Record<string, number[]>;
  findBroker: (named: { nodeId: string }) => Promise<object>;
};
type Fetch = (options: {
  maxWaitTime: number;
  minBytes: number;
  maxBytes: number;
  topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
}) => Promise<{ responses: { partitions: { messages: Message[] }[] }[] }>;
type Message = Partial<BatchMessage> & Partial<ErrorMessage> & Partial<ThrottleMessage> & { offset: string };

/** The batches from an offset on. The next fetch begins at `nextOffset`. */
export type FetchedBatches = { batches: RawBatch[]; nextOffset: number };

/** The maximum size of one fetch, in bytes. A larger batch is delivered whole. */
const fetchBytes = 4 * 1024 * 1024;
/** How long a broker waits for the first byte, in milliseconds. */
const fetchWaitMs = 1_000;

/**
 * `fetchBatches` rejects after this number of throttled responses in a row, which are empty, or if the broker asks for
 * a wait longer than `waitMs`.
 */
const throttlingLimits = { responses: 3, waitMs: 30_000 };

/**
 * Fetches the committed batches of a partition from an offset on, without a consumer group. Returns null if the offset
 * is outside the log. Rejects if no leader delivers a batch, or if a quota throttles this client beyond
 * `throttlingLimits`.
 */
export async function fetchBatches(
  cluster: FetchingCluster,
  place: TopicPartition,
  offset: number,
): Promise<FetchedBatches | null> {
  const { topic, partition } = place;
  const unreadable = `${partitionKey(place)} cannot be read at offset ${offset}`;
  await cluster.addMultipleTargetTopics([topic]);
  await cluster.refreshMetadata();
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
  if (nodeId === undefined || nodeId === String(noLeader))
    throw new kafkajs.KafkaJSError(`${unreadable}: it has no leader`);
  const broker = (await cluster.findBroker({ nodeId })) as { fetch: Fetch };
  const wanted = { partition, fetchOffset: String(offset), maxBytes: fetchBytes };
  const limits = { maxWaitTime: fetchWaitMs, minBytes: 1, maxBytes: fetchBytes };
  const messages = await fetchUntilDelivered(async () => {
    const fetched = await broker.fetch({ ...limits, topics: [{ topic, partitions: [wanted] }] });
    const partitions = fetched.responses.flatMap((response) => response.partitions);
    return partitions.flatMap((fetchedPartition) => fetchedPartition.messages);
  });
  const error = messages.find((message) => message.error !== undefined)?.error;
  if (error?.type === 'OFFSET_OUT_OF_RANGE') return null;
  if (error) throw Object.assign(error, { message: `${unreadable}: ${protocolErrorText(error)}` });
  const last = messages.at(-1);
  // The broker may have become the leader just now, and know no later high watermark yet.
  if (!last) throw new kafkajs.KafkaJSError(`${unreadable}: its leader delivers nothing`);
  return { batches: messages.flatMap(({ batch }) => batch ?? []), nextOffset: Number(last.offset) + 1 };
}

/** Fetches again after a throttled response. kafkajs itself delays the next request until the wait is over. */
async function fetchUntilDelivered(fetch: () => Promise<Message[]>): Promise<Message[]> {
  let throttledMs = 0;
  for (let responses = 0; responses < throttlingLimits.responses; responses += 1) {
    const messages = await fetch();
    throttledMs = messages[0]?.throttledMs ?? 0;
    if (throttledMs === 0) return messages;
    if (throttledMs > throttlingLimits.waitMs) break;
  }
  throw new Error(
    `a quota of Kafka throttles this client, by ${throttledMs} ms: raise consumer_byte_rate of its user or client`,
  );
}
