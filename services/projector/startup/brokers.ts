import type { Admin, Kafka } from 'kafkajs';
import { createLogClient, type LogClient } from '../../../shared/kafka/log-client.ts';

/** The clients of Kafka that a projector uses beside its consumer. */
export type Brokers = {
  /** kafkajs: it reads groups and the settings of topics. */
  admin: Admin;
  /** Reads the logs of the topics. */
  log: LogClient;
  connect: () => Promise<void>;
  disconnect: () => Promise<unknown>;
};

export function createBrokers(kafka: Kafka): Brokers {
  const admin = kafka.admin();
  const log = createLogClient(kafka);
  return {
    admin,
    log,
    // The clients connect one after the other: if the first fails, the second must not connect after a disconnect and
    // keep the process alive.
    connect: () => admin.connect().then(() => log.connect()),
    disconnect: () => Promise.all([admin.disconnect(), log.disconnect()]),
  };
}
