import type { Brokers } from '../../shared/kafka/brokers.ts';

export type ReconnectingKafka = {
  /** Calls `work` with connected clients. If it fails, the next use connects new clients. */
  use: <T>(work: (brokers: Brokers) => Promise<T>) => Promise<T>;
  /** Disconnects the clients. A later use rejects. */
  close: () => Promise<void>;
};

/**
 * Keeps clients of Kafka connected, because each page needs them. Drops the clients after a failed use, because kafkajs
 * may keep a broken connection.
 */
export function createReconnectingKafka(create: () => Brokers): ReconnectingKafka {
  let current: (Brokers & { connecting: Promise<void> }) | null = null;
  let isClosed = false;
  const open = () => {
    const brokers = create();
    return { ...brokers, connecting: brokers.connect() };
  };
  /** Disconnects the clients, unless another use has already dropped them. */
  const drop = async (used: typeof current) => {
    if (!used || current !== used) return;
    current = null;
    await used.connecting.catch(() => undefined);
    await used.disconnect();
  };
  return {
    use: async <T>(work: (brokers: Brokers) => Promise<T>): Promise<T> => {
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
