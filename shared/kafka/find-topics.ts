import type { Broker } from './kafkajs-protocol.ts';
import { liveBrokers, readMetadata } from './metadata.ts';
import { topicAuthorizationFailed } from './protocol-errors.ts';

/** The part of a kafkajs cluster that asks its brokers. */
type AskedCluster = {
  refreshMetadata: () => Promise<void>;
  getNodeIds: () => string[];
  findBroker: (named: { nodeId: string }) => Promise<Broker>;
};

/** The named topics that this client does not find. */
export type FoundTopics = {
  /** The topics that no broker has. */
  missing: string[];
  /** The topics on which this client lacks the right Describe. Brokers do not answer whether such a topic exists. */
  hidden: string[];
};

/** Kafka's code for a topic that the broker does not know. */
const unknownTopic = 3;

/** Asks every live broker for the topics by name, because a broker that has just started may not know them yet. */
export async function findTopics(cluster: AskedCluster, topics: string[]): Promise<FoundTopics> {
  await cluster.refreshMetadata();
  const asking = liveBrokers(cluster).map(async (nodeId) => {
    const broker = await cluster.findBroker({ nodeId });
    return readMetadata(broker, topics);
  });
  const answers = await Promise.allSettled(asking);
  const metadata = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const refused = new Set<string>();
  const existing = new Set<string>();
  for (const { topic, errorCode } of metadata) {
    if (errorCode === topicAuthorizationFailed) refused.add(topic);
    // A topic with any other error exists.
    else if (errorCode !== unknownTopic) existing.add(topic);
  }
  const absent = topics.filter((topic) => !existing.has(topic));
  const missing = absent.filter((topic) => !refused.has(topic));
  const failed = answers.find((answer) => answer.status === 'rejected');
  // A broker that does not answer may know the missing topics.
  if (missing.length > 0 && failed) throw failed.reason;
  return { missing, hidden: absent.filter((topic) => refused.has(topic)) };
}

/** The message to an operator about topics that this client may not see. */
export const describeHidden = (hidden: string[]): string =>
  `this Kafka user may not see ${hidden.join(', ')}, or they do not exist: it needs Describe on them`;
