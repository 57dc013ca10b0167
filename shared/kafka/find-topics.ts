import { type Broker, readMetadata } from './metadata.ts';
import { topicAuthorizationFailed } from './protocol-errors.ts';

/** The part of a kafkajs cluster that asks its brokers. */
type AskedCluster = {
  refreshMetadata: () => Promise<void>;
  getNodeIds: () => string[];
  findBroker: (named: { nodeId: string }) => Promise<Broker>;
};

/** The named topics that this client does not find. */
export type FoundTopics = {
  /** No broker has them. */
  missing: string[];
  /**
   * Without the right Describe on a topic, brokers do not say whether it exists. A list of all topics leaves it out.
   */
  hidden: string[];
};

/** Asks every live broker for the topics by name: one that has just started may not know them yet. */
export async function findTopics(cluster: AskedCluster, topics: string[]): Promise<FoundTopics> {
  await cluster.refreshMetadata();
  const answers = await Promise.allSettled(
    cluster.getNodeIds().map(async (nodeId) => readMetadata(await cluster.findBroker({ nodeId }), topics)),
  );
  const known = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const named = (isMeant: (errorCode: number) => boolean) =>
    new Set(known.filter(({ errorCode }) => isMeant(errorCode)).map(({ topic }) => topic));
  const refused = named((errorCode) => errorCode === topicAuthorizationFailed);
  // Any other error is of a topic that exists.
  const existing = named((errorCode) => ![unknownTopic, topicAuthorizationFailed].includes(errorCode));
  const absent = topics.filter((topic) => !existing.has(topic));
  const missing = absent.filter((topic) => !refused.has(topic));
  const failed = answers.find((answer) => answer.status === 'rejected');
  // The broker that does not answer may know it.
  if (missing.length > 0 && failed) throw failed.reason;
  return { missing, hidden: absent.filter((topic) => refused.has(topic)) };
}

/** Kafka's code for a topic that the broker does not know. */
const unknownTopic = 3;

/** The message to an operator about topics that this client may not see. */
export const describeHidden = (hidden: string[]): string =>
  `this Kafka user may not see ${hidden.join(', ')}, or they do not exist: it needs Describe on them`;
