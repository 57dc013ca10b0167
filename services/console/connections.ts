import type { Admin, Kafka } from 'kafkajs';
import { createLogClient, type LogClient } from '../../shared/kafka/log-client.ts';

type Clients = { admin: Admin; log: LogClient };

export type ReconnectingKafka = {
  /** Calls `work` with connected clients. If it fails, the next use connects new clients. */
  use: <T>(work: (clients: Clients) => Promise<T>) => Promise<T>;
  /** Disconnects the clients. A later use rejects. */
  close: () => Promise<void>;
};

/**
 * Keeps clients of Kafka connected, because each page needs them. After a failed use it drops them: kafkajs may keep a
 * broken connection.
 */
export function reconnectingKafka(kafka: Kafka, createLog = createLogClient): ReconnectingKafka {
  let current: (Clients & { connecting: Promise<void> }) | null = null;
  let isClosed = false;
  const open = () => {
    const admin = kafka.admin();
    const log = createLog(kafka);
    // Connects one client after the other, so that the second never connects after the disconnect.
    return { admin, log, connecting: admin.connect().then(() => log.connect()) };
  };
  /** Disconnects the clients, unless another use has already dropped them. */
  const drop = async (used: typeof current) => {
    if (!used || current !== used) return;
    current = null;
    await used.connecting.catch(() => undefined);
    await Promise.allSettled([used.admin.disconnect(), used.log.disconnect()]);
  };
  return {
    use: async <T>(work: (clients: Clients) => Promise<T>): Promise<T> => {
      if (isClosed) throw new Error('the console ends');
      current ??= open();
      const used = current;
      try {
        await used.connecting;
        return await work(used);
      } catch (error) {
        void drop(used);
        throw error;
      }
    },
    close: async () => {
      isClosed = true;
      await drop(current);
    },
  };
}
