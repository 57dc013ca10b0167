import type { Admin, Kafka } from 'kafkajs';
import { createLogClient } from '../../../shared/kafka/log-client.ts';
import { NotReady, waitUntil, type OnWait } from './wait-until.ts';

/** Waits for the brokers, the topics and the group, in this order. */
export async function connectBrokers(kafka: Kafka, topics: string[], groupId: string, onWait: OnWait) {
  const admin = kafka.admin();
  const log = createLogClient(kafka);
  await waitUntil(onWait, 'the brokers are unavailable', async () => {
    await admin.connect();
    await log.connect();
  });
  await waitUntil(onWait, 'topics are missing; create them with: support-cli topics create', async () => {
    const existing = new Set(await admin.listTopics());
    const missing = topics.filter((topic) => !existing.has(topic));
    if (missing.length > 0) throw new NotReady(`missing topics: ${missing.join(', ')}`);
  });
  await waitForGroup(admin, groupId, topics, onWait);
  return { kafka, admin, log, topics, groupId };
}

/** Waits until the group can be joined. A broker that has just started loads its groups first, and joining fails. */
export const waitForGroup = (admin: Admin, groupId: string, topics: string[], onWait: OnWait) =>
  waitUntil(onWait, 'the brokers cannot be asked for the group yet', () =>
    admin.fetchOffsets({ groupId, topics }),
  );
