import type { Kafka } from 'kafkajs';

/** A connected broker of kafkajs 2.2.4; its types do not include these fields. */
export type Broker = {
  versions: Record<number, { maxVersion: number }> | null;
  connectionPool: { host: string; port: number; send: <T>(call: ProtocolCall<T>) => Promise<T> };
};

/** A request of kafkajs's protocol, and the functions that read its response. `parse` throws the errors in it. */
export type ProtocolCall<T> = {
  request: { apiKey: number; apiVersion: number; apiName: string; encode: () => Promise<object> };
  response: { decode: (payload: Buffer) => Promise<T>; parse: (decoded: T) => Promise<T> };
};

export type BrokerAddress = { nodeId: number; host: string; port: number };

/** `<host>:<port>` */
export const addressKey = ({ host, port }: Pick<BrokerAddress, 'host' | 'port'>): string => `${host}:${port}`;

/** The pool of brokers in a kafkajs 2.2.4 cluster; its types do not include the class. */
type KafkajsPool = {
  rootLogger: object;
  seedBroker: Broker;
  brokers: Record<string, Broker>;
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  createBroker: (options: { logger: object; connectionPool: Broker['connectionPool'] }) => Broker;
  connectionPoolBuilder: {
    build: (address: { host: string; port: number }) => Promise<Broker['connectionPool']>;
  };
  findBroker: (named: { nodeId: string }) => Promise<Broker>;
};

/** Connections to brokers, with the TLS and SASL settings of kafkajs. */
export type BrokerPool = {
  /** Connects one of the configured brokers. */
  connect: () => Promise<BrokerAddress>;
  /** The connected broker at this address. */
  find: (address: BrokerAddress) => Promise<Broker>;
  disconnect: () => Promise<void>;
};

export function createBrokerPool(kafka: Kafka): BrokerPool {
  const pool = createCluster(kafka).brokerPool;
  return {
    connect: async () => {
      await pool.connect();
      const { host, port } = pool.seedBroker.connectionPool;
      pool.brokers[addressKey({ host, port })] = pool.seedBroker;
      return { nodeId: -1, host, port };
    },
    find: async (address) => {
      const { host, port } = address;
      const nodeId = addressKey(address);
      pool.brokers[nodeId] ??= pool.createBroker({
        logger: pool.rootLogger,
        connectionPool: await pool.connectionPoolBuilder.build({ host, port }),
      });
      return pool.findBroker({ nodeId });
    },
    disconnect: () => pool.disconnect(),
  };
}

/** Creates a cluster as `kafka.admin()` does. kafkajs keeps that method under a symbol. */
function createCluster(kafka: Kafka): { brokerPool: KafkajsPool } {
  for (let object: object | null = kafka; object; object = Object.getPrototypeOf(object) as object | null) {
    const symbol = Object.getOwnPropertySymbols(object).find(
      ({ description }) => description === 'private:Kafka:createCluster',
    );
    if (!symbol) continue;
    const create = (kafka as unknown as Record<symbol, (options: object) => { brokerPool: KafkajsPool }>)[
      symbol
    ];
    if (create) return create({ allowAutoTopicCreation: false });
  }
  throw new Error('this version of kafkajs has no createCluster where 2.2.4 has it');
}
