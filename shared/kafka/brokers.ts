import type { Admin, Kafka } from 'kafkajs';
import { createLogClient, type LogClient } from './log-client.ts';

/** The clients of Kafka that a process uses beside a consumer or a producer. */
export type Brokers = {
  /** kafkajs: it reads groups and the settings of topics. */
  admin: Admin;
  /** Reads the logs of the topics. */
  log: LogClient;
  connect: () => Promise<void>;
  /** Never rejects. */
  disconnect: () => Promise<unknown>;
};

export function createBrokers(kafka: Kafka): Brokers {
  const admin = kafka.admin();
  const log = createLogClient(kafka);
  return {
    admin,
    log,
    // One after the other. If the first client fails while the second still connects, `disconnect` would come before
    // that connection, which would keep the process alive.
    connect: async () => {
      await admin.connect();
      await log.connect();
    },
    disconnect: () => Promise.allSettled([admin.disconnect(), log.disconnect()]),
  };
}
