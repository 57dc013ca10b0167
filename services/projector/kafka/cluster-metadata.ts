import { addressKey, type BrokerAddress, type BrokerPool } from './broker-pool.ts';
import { readMetadata, type Metadata } from './metadata.ts';
import { throwUnlessRetriable } from './protocol-error.ts';
import { partitionKey } from './topic-partition.ts';

/** The answers and the errors of brokers, by address. */
type Answers = { answered: Map<string, Metadata>; failed: Map<string, unknown> };

/** Reads the metadata of the topics from the `known` brokers, and from every broker that one of them names. */
export async function readMetadataOfAll(
  pool: BrokerPool,
  known: BrokerAddress[],
  topics: string[],
): Promise<Answers> {
  const asked = new Set<string>();
  const answered = new Map<string, Metadata>();
  const failed = new Map<string, unknown>();
  const ask = async (address: BrokerAddress): Promise<void> => {
    const key = addressKey(address);
    if (asked.has(key)) return;
    asked.add(key);
    try {
      answered.set(key, await readMetadata(await pool.find(address), topics));
    } catch (error) {
      failed.set(key, error);
    }
    await Promise.all((answered.get(key)?.brokers ?? []).map(ask));
  };
  await Promise.all(known.map(ask));
  return { answered, failed };
}

/** The union of what brokers know of the topics. */
export type MergedTopics = {
  /** The node id of each partition's latest leader, -1 for none, by `<topic>/<partition>`. */
  leaders: Map<string, number>;
  topicIds: Map<string, string>;
};

/** The id of a topic that was created before brokers assigned topic ids. */
const noId = '0'.repeat(32);

/**
 * Merges the metadata of several brokers. The leader of the latest epoch counts. A topic on whose id the brokers
 * disagree was just created again: it has neither id nor leaders, since a name says no longer which topic is meant.
 */
export function mergeTopics(metadata: Metadata[]): MergedTopics {
  const leaders = new Map<string, number>();
  const topicIds = new Map<string, string>();
  const found = metadata.flatMap(({ topics }) => topics);
  for (const { errorCode } of found) throwUnlessRetriable(errorCode);
  const known = found.filter(({ errorCode }) => errorCode === 0);
  for (const [topic, copies] of Map.groupBy(known, (one) => one.topic)) {
    const [topicId = noId, ...others] = new Set(copies.map((one) => one.topicId));
    if (others.length === 0 && topicId !== noId) topicIds.set(topic, topicId);
    const partitions = copies
      .flatMap((one) => one.partitions)
      .toSorted((a, b) => a.leaderEpoch - b.leaderEpoch);
    for (const { partition, leader } of partitions)
      leaders.set(partitionKey({ topic, partition }), others.length === 0 ? leader : -1);
  }
  return { leaders, topicIds };
}
