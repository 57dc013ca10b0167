import kafkajs, { type Admin } from 'kafkajs';
import { dayMs } from '../../../shared/documents/instant.ts';
import { classify, isTransient } from '../../../shared/kafka/errors.ts';
import { topicsOf } from '../../../shared/kafka/topics.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { within } from '../../../shared/runtime/within.ts';
import { pollUntil } from '../poll-until.ts';

/**
 * Compaction keeps tombstones for this time. If a rebuild takes longer, or a projector is down for longer, the read
 * model keeps entities whose tombstones Kafka has deleted.
 */
const tombstonesKeptDays = 7;

/** If the replication factor or `min.insync.replicas` is absent, the default of the brokers applies. */
export type TopicOptions = {
  partitions: number;
  replicationFactor?: number | undefined;
  minInsyncReplicas?: number | undefined;
};

/** The default number of partitions of each topic. It is also the number of projectors that can share the work. */
export const partitionsDefault = 6;

/**
 * Creates the entity topics that do not exist yet, compacted, and waits until they can be used. Does not change
 * existing topics. Returns one line for each topic.
 */
export async function createTopics(admin: Admin, prefix: string, options: TopicOptions): Promise<string[]> {
  const { partitions, replicationFactor, minInsyncReplicas } = options;
  const present = new Set(await admin.listTopics());
  const wanted = topicsOf(prefix);
  const absent = wanted.filter((topic) => !present.has(topic));
  if (absent.length > 0) {
    const configEntries = [
      { name: 'cleanup.policy', value: 'compact' },
      { name: 'delete.retention.ms', value: String(tombstonesKeptDays * dayMs) },
    ];
    if (minInsyncReplicas !== undefined)
      configEntries.push({ name: 'min.insync.replicas', value: String(minInsyncReplicas) });
    const topics = absent.map((topic) => ({
      topic,
      numPartitions: partitions,
      configEntries,
      ...(replicationFactor !== undefined && { replicationFactor }),
    }));
    // kafkajs's own wait for leaders fails if a broker does not know a topic yet.
    await admin.createTopics({ topics, waitForLeaders: false }).catch(throwReasons);
    await awaitLeaders(admin, absent);
  }
  const outcomeOf = (topic: string) =>
    present.has(topic) ? 'already exists, left unchanged' : `created, ${counted(partitions, 'partition')}`;
  return wanted.map((topic) => `${topic}: ${outcomeOf(topic)}`);
}

/** Throws an error with the reasons of the brokers, which kafkajs has in a list of errors, but not in its message. */
function throwReasons(error: unknown): never {
  if (!(error instanceof kafkajs.KafkaJSAggregateError)) throw error;
  const reasons = error.errors.map((topicError) => {
    if (typeof topicError === 'string') return topicError;
    const isRefused = classify(topicError).errorClass === 'unauthorized';
    const neededRight = isRefused ? ': this Kafka user needs Create on it' : '';
    const { topic = '' } = topicError as { topic?: string };
    return `${topic}: ${topicError.message}${neededRight}`;
  });
  throw new Error(`the brokers refuse the topics: ${[...new Set(reasons)].join('; ')}`, { cause: error });
}

/** Brokers may take this long to know new topics and to lead their partitions, in milliseconds. */
const leadersTimeoutMs = 30_000;

/**
 * Waits until each partition has a leader that knows it. Rejects with the last error of the brokers after 30 seconds;
 * if a request is never answered, after 60 seconds.
 */
export async function awaitLeaders(admin: Admin, topics: string[]): Promise<void> {
  const findProblem = async () => {
    try {
      // While a broker does not know a topic, kafkajs's request for offsets reads the metadata of all topics.
      await admin.fetchTopicMetadata({ topics });
      // The requests run one after the other: if one broker does not know a topic yet, kafkajs forgets the topics of
      // concurrent requests.
      for (const topic of topics) {
        if ((await admin.fetchTopicOffsets(topic)).length === 0)
          return { error: new Error(`no broker knows a partition of ${topic}`) };
      }
      return null;
    } catch (error) {
      if (isTransient(error)) return { error };
      throw error;
    }
  };
  const polling = pollUntil(findProblem, (problem) => problem === null, {
    everyMs: 100,
    timeoutMs: leadersTimeoutMs,
  });
  const unanswered = new Error(
    'the topics exist, but no broker has said in time which brokers lead their partitions',
  );
  // The last poll may begin just before the time is up, and kafkajs retries its requests.
  const problem = await within(2 * leadersTimeoutMs, polling, () => ({ error: unanswered }));
  if (problem) throw problem.error;
}
