import type { Kafka } from 'kafkajs';
import { addressKey, createBrokerPool, type BrokerAddress, type BrokerPool } from './broker-pool.ts';
import { mergeTopics, readMetadataOfAll } from './cluster-metadata.ts';
import { atEnd, atStart, listOffsets } from './list-offsets.ts';

/** What the brokers report of the logs of some topics. */
export type LogState = {
  /** By `<topic>/<partition>`: every partition that had accepted a record when the read began. */
  partitions: string[];
  /**
   * The offsets by `<topic>/<partition>`. `low` is the first offset in the log. `end` is the last stable offset: the
   * records of an open transaction count once it is committed. A partition without a leader that answers is left out.
   */
  ends: Map<string, { low: number; end: number }>;
  /** The topic ids by topic. */
  topicIds: Map<string, string>;
  /** The live brokers that did not answer: there may be partitions that only they know. */
  silent: { broker: string; error: unknown }[];
};

export type LogClient = {
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  /** Reads the state of the topics' logs. Rejects if no broker answers, or if the brokers refuse this client. */
  read: (topics: string[]) => Promise<LogState>;
};

/**
 * Creates a client for the logs of many topics. It asks every live broker for the partitions: the leader of a new one
 * knows it before it accepts a record, the others may not. The kafkajs admin asks one broker, one topic at a time, and
 * fails if one partition has no leader.
 */
export function createLogClient(kafka: Kafka): LogClient {
  const pool = createBrokerPool(kafka);
  let known: BrokerAddress[] = [];
  return {
    connect: async () => void (await pool.connect()),
    disconnect: () => pool.disconnect(),
    read: async (topics) => {
      const asked = known.length > 0 ? known : [await pool.connect()];
      const { answered, failed } = await readMetadataOfAll(pool, asked, topics);
      const metadata = [...answered.values()];
      const live = new Map(
        metadata.flatMap(({ brokers }) => brokers).map((address) => [addressKey(address), address]),
      );
      known = [...live.values()].filter((address) => answered.has(addressKey(address)));
      if (metadata.length === 0) {
        // The next call starts with a configured address.
        await pool.disconnect();
        throw [...failed.values()][0];
      }
      const { leaders, topicIds } = mergeTopics(metadata);
      const ends = await readEnds(pool, [...live.values()], leaders, failed);
      const silent = [...failed].filter(([broker]) => live.has(broker));
      return {
        ...{ partitions: [...leaders.keys()], ends, topicIds },
        silent: silent.map(([broker, error]) => ({ broker, error })),
      };
    },
  };
}

/** Reads the offsets of each partition from its leader. Adds the leaders that do not answer to `failed`. */
async function readEnds(
  pool: BrokerPool,
  live: BrokerAddress[],
  leaders: Map<string, number>,
  failed: Map<string, unknown>,
): Promise<LogState['ends']> {
  const ends: LogState['ends'] = new Map();
  const byLeader = Map.groupBy(leaders.keys(), (key) => leaders.get(key));
  const readFrom = async (address: BrokerAddress) => {
    const keys = byLeader.get(address.nodeId) ?? [];
    if (keys.length === 0 || failed.has(addressKey(address))) return;
    const leader = await pool.find(address);
    const [lows, highs] = await Promise.all([
      listOffsets(leader, keys, atStart),
      listOffsets(leader, keys, atEnd),
    ]);
    for (const [key, end] of highs) {
      const low = lows.get(key);
      if (low !== undefined) ends.set(key, { low, end });
    }
  };
  await Promise.all(
    live.map((address) =>
      readFrom(address).catch((error: unknown) => {
        // The brokers refuse this client.
        if ((error as Error).name === 'KafkaJSProtocolError') throw error;
        failed.set(addressKey(address), error);
      }),
    ),
  );
  return ends;
}
