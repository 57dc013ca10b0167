import type { Admin, Kafka } from 'kafkajs';
import { createLogClient, type LogClient } from '../../shared/kafka/log-client.ts';
import { isKafkaError } from '../../shared/kafka/transient-errors.ts';

type Clients = { admin: Admin; log: LogClient };

/** Kafka clients that stay connected. */
export function reconnectingKafka(kafka: Kafka, createLog = createLogClient) {
  let held: { clients: Promise<Clients>; users: number } | null = null;
  let isClosed = false;
  const open = async (): Promise<Clients> => {
    const clients = { admin: kafka.admin(), log: createLog(kafka) };
    try {
      // One after the other, so that neither connects after the disconnect.
      await clients.admin.connect();
      await clients.log.connect();
    } catch (error) {
      await disconnect(clients);
      throw error;
    }
    return clients;
  };
  const disconnected = (clients: Promise<Clients> | undefined) => clients?.then(disconnect, () => undefined);
  return {
    /** Connects if necessary. After a failure of Kafka the next use connects again. */
    use: async <T>(work: (clients: Clients) => Promise<T>): Promise<T> => {
      if (isClosed) throw new Error('the console ends');
      held ??= { clients: open(), users: 0 };
      const used = held;
      used.users += 1;
      let isOpen = false;
      try {
        const clients = await used.clients;
        isOpen = true;
        return await work(clients);
      } catch (error) {
        if ((!isOpen || isKafkaError(error)) && held === used) held = null;
        throw error;
      } finally {
        used.users -= 1;
        // Other readings may still use clients that failed for one of them.
        if (held !== used && used.users === 0) void disconnected(used.clients);
      }
    },
    close: async () => {
      isClosed = true;
      const last = held;
      held = null;
      await disconnected(last?.clients);
    },
  };
}

const disconnect = async ({ admin, log }: Clients): Promise<void> => {
  await Promise.allSettled([admin.disconnect(), log.disconnect()]);
};
