import type { Admin, Kafka } from 'kafkajs';
import { createLogClient, type LogClient } from '../../shared/kafka/log-client.ts';

type Clients = { admin: Admin; log: LogClient };

export type ReconnectingKafka = {
  /** Gives connected clients to `work`. If it fails, the next use connects others. */
  use: <T>(work: (clients: Clients) => Promise<T>) => Promise<T>;
  /** Disconnects the clients. A later use rejects. */
  close: () => Promise<void>;
};

/** Kafka clients that stay connected until a use fails. The next one then connects others. */
export function reconnectingKafka(kafka: Kafka, createLog = createLogClient): ReconnectingKafka {
  let held: (Clients & { connecting: Promise<void> }) | null = null;
  let isClosed = false;
  const open = () => {
    const admin = kafka.admin();
    const log = createLog(kafka);
    // Connects one client after the other, so that the second never connects after the disconnect.
    return { admin, log, connecting: admin.connect().then(() => log.connect()) };
  };
  /** Does nothing if an earlier use has dropped these clients. */
  const drop = async (used: typeof held) => {
    if (!used || held !== used) return;
    held = null;
    await used.connecting.catch(() => undefined);
    await Promise.allSettled([used.admin.disconnect(), used.log.disconnect()]);
  };
  return {
    use: async <T>(work: (clients: Clients) => Promise<T>): Promise<T> => {
      if (isClosed) throw new Error('the console ends');
      const used = (held ??= open());
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
      await drop(held);
    },
  };
}
