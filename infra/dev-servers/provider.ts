import type { Server } from './native/server.ts';

/** The sources of Kafka and MongoDB, in order of preference. */
export const providers = ['environment', 'docker', 'native'] as const;
export type Provider = (typeof providers)[number];

export const serverNames = ['kafka', 'store'] as const;
export type ServerName = (typeof serverNames)[number];

/** Kafka and MongoDB, which are reachable at these addresses until `stop`. */
export type Stack = {
  /** `host:port`, or several separated by commas, as `KAFKA_BROKERS`. */
  kafkaBrokers: string;
  /** As `MONGODB_URL`, without a database name. */
  mongodbUrl: string;
  /** The store's own name and version: "MongoDB 8.0.32 (replica set of one)". */
  store: string;
  /** The provider of each server. */
  how: Record<ServerName, Provider>;
  /** The servers that were started. */
  servers: Partial<Record<ServerName, Started>>;
  /** Stops every process and container that was started. Data and logs stay in `dataDir`. */
  stop: () => Promise<void>;
};

/**
 * A server that a provider has started. The server ends with this process, even if this process is killed. Tests can
 * kill a native server, which keeps its data and its address.
 */
export type Started = { address: string } & Pick<Server, 'stop'> & Partial<Server>;

export type StackOptions = {
  /** Receives one line of progress at a time, without its line end. */
  report: (line: string) => void;
  /** Folder for this run's data and logs; created if missing. Two stacks must not share it. */
  dataDir: string;
  providers?: readonly Provider[];
};
