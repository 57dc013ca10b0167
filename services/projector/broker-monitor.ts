import type { Kafka } from 'kafkajs';
import { createLogClient, type LogClient } from '../../shared/kafka/log-client.ts';
import {
  type ConnectionMonitor,
  monitorConnections,
  type MonitorTimes,
} from '../../shared/runtime/connection-monitor.ts';

type BrokerMonitorDeps = {
  kafka: Kafka;
  logClient: Pick<LogClient, 'find'>;
  topics: string[];
  /** Creates a client with separate connections; by default a client of `kafka`. */
  createFresh?: () => Pick<LogClient, 'connect' | 'find' | 'disconnect'>;
};

/** A fresh client is created at most twice a minute, because each one logs its failed attempts. */
const defaultTimes: MonitorTimes = { everyMs: 10_000, freshEveryMs: 30_000 };

/**
 * Asks the brokers for the topics through the client that reads the logs. While that fails, asks through a fresh
 * client. If only the fresh client works, a restart of the process helps.
 */
export function monitorBrokers(
  { kafka, logClient, topics, createFresh = () => createLogClient(kafka) }: BrokerMonitorDeps,
  times: MonitorTimes = defaultTimes,
): ConnectionMonitor {
  const readFresh = async () => {
    const fresh = createFresh();
    try {
      await fresh.connect();
      await fresh.find(topics);
    } finally {
      void fresh.disconnect().catch(() => undefined);
    }
  };
  const reads = { log: () => logClient.find(topics) };
  return monitorConnections({ server: 'Kafka', reads, readFresh }, times);
}
