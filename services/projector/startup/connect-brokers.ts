import type { Admin, Kafka } from 'kafkajs';
import { createLogClient, type LogClient } from '../../../shared/kafka/log-client.ts';
import { NotReady, waitUntil, type OnWait } from './wait-until.ts';

type BrokerClients = { admin: Admin; log: LogClient };

/** Waits for the brokers, then connects the clients that the projector needs besides its consumer. */
export async function connectBrokers(kafka: Kafka, onWait: OnWait): Promise<BrokerClients> {
  const admin = kafka.admin();
  const log = createLogClient(kafka);
  await waitUntil(onWait, 'the brokers are unavailable', async () => {
    await admin.connect();
    await log.connect();
  });
  return { admin, log };
}

/** Waits until the topics exist. */
export const waitForTopics = (admin: Admin, topics: string[], onWait: OnWait): Promise<void> =>
  waitUntil(onWait, 'topics are missing; create them with: support-cli topics create', async () => {
    const existing = new Set(await admin.listTopics());
    const missing = topics.filter((topic) => !existing.has(topic));
    if (missing.length > 0) throw new NotReady(`missing topics: ${missing.join(', ')}`);
  });

/** Waits until the group can be joined. A broker that has just started loads its groups first, and joining fails. */
export async function waitForGroup(
  admin: Admin,
  groupId: string,
  topics: string[],
  onWait: OnWait,
): Promise<void> {
  await waitUntil(onWait, 'the brokers cannot be asked for the group yet', () =>
    admin.fetchOffsets({ groupId, topics }),
  );
}
