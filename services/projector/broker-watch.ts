import type { Kafka } from 'kafkajs';
import { createLogClient, type LogClient } from '../../shared/kafka/log-client.ts';
import {
  type ConnectionWatch,
  watchConnections,
  type WatchTimes,
} from '../../shared/runtime/connection-watch.ts';

type BrokerWatchDeps = {
  kafka: Kafka;
  log: Pick<LogClient, 'find'>;
  topics: string[];
  /** Creates a client with connections of its own; one of `kafka` by default. */
  createFresh?: () => Pick<LogClient, 'connect' | 'find' | 'disconnect'>;
};

/** A fresh client logs each failed attempt, so that it is not created often. In milliseconds. */
const seldom: WatchTimes = { everyMs: 10_000, freshEveryMs: 30_000 };

/** Asks the brokers for the topics through the client that reads the logs, and through a new one while that fails. */
export function watchBrokers(
  { kafka, log, topics, createFresh = () => createLogClient(kafka) }: BrokerWatchDeps,
  times: WatchTimes = seldom,
): ConnectionWatch {
  const readFresh = async () => {
    const fresh = createFresh();
    try {
      await fresh.connect();
      await fresh.find(topics);
    } finally {
      void fresh.disconnect().catch(() => undefined);
    }
  };
  return watchConnections({ server: 'Kafka', clients: { log: () => log.find(topics) }, readFresh }, times);
}
