import type { Admin, Kafka } from 'kafkajs';
import { createLogClient, type LogClient } from '../projector/kafka/log-client.ts';

type Clients = { admin: Admin; log: LogClient };

/** Kafka clients that stay connected. */
export type HeldKafka = {
  /** Connects if necessary. After a failure the next use connects again. */
  use: <T>(work: (clients: Clients) => Promise<T>) => Promise<T>;
  close: () => Promise<void>;
};

export function holdKafka(kafka: Kafka): HeldKafka {
  let held: Promise<Clients> | null = null;
  const open = async (): Promise<Clients> => {
    const clients = { admin: kafka.admin(), log: createLogClient(kafka) };
    try {
      await Promise.all([clients.admin.connect(), clients.log.connect()]);
    } catch (error) {
      await disconnect(clients);
      throw error;
    }
    return clients;
  };
  const release = async (clients: Promise<Clients> | null) => {
    if (held === clients) held = null;
    await clients?.then(disconnect, () => undefined);
  };
  return {
    use: async (work) => {
      held ??= open();
      const used = held;
      try {
        return await work(await used);
      } catch (error) {
        void release(used);
        throw error;
      }
    },
    close: () => release(held),
  };
}

const disconnect = async ({ admin, log }: Clients): Promise<void> => {
  await Promise.allSettled([admin.disconnect(), log.disconnect()]);
};
