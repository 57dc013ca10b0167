import type { Admin, Kafka } from 'kafkajs';
import { inGroup } from '../../../shared/kafka/group-members.ts';
import { createLogClient, type LogClient } from '../../../shared/kafka/log-client.ts';
import { topicsRefused } from '../../../shared/kafka/protocol-errors.ts';
import { NotReady, type OnWait, waitUntil } from './wait-until.ts';

/** The clients of Kafka that a projector uses beside its consumer. */
export type Brokers = {
  /** kafkajs: it reads groups and the settings of topics. */
  admin: Admin;
  /** Reads the logs of the topics. */
  log: LogClient;
  disconnect: () => Promise<unknown>;
};

export function createBrokers(kafka: Kafka): Brokers {
  const admin = kafka.admin();
  const log = createLogClient(kafka);
  return { admin, log, disconnect: () => Promise.all([admin.disconnect(), log.disconnect()]) };
}

/** Waits for the brokers, the topics and the group, in this order. Tries to fetch from each topic. */
export async function connectBrokers(
  { admin, log }: Brokers,
  topics: string[],
  groupId: string,
  onWait: OnWait,
): Promise<void> {
  await waitUntil(onWait, async () => {
    await admin.connect();
    await log.connect();
  });
  await waitUntil(onWait, async () => {
    const { missing, hidden } = await log.find(topics);
    if (hidden.length > 0) throw topicsRefused(hidden);
    if (missing.length > 0) throw new NotReady(topicsMissing, `missing topics: ${missing.join(', ')}`);
  });
  // A topic without a leader is read once it has one.
  await waitUntil(onWait, () => log.tryFetch(topics));
  await waitForGroup(admin, groupId, topics, onWait);
}

const topicsMissing = 'topics are missing; create them with: support-cli topics create';

/** Waits until the group can be joined. A broker that has just started loads its groups first, and joining fails. */
export const waitForGroup = (admin: Admin, groupId: string, topics: string[], onWait: OnWait) =>
  waitUntil(onWait, () => inGroup(groupId, () => admin.fetchOffsets({ groupId, topics })));
