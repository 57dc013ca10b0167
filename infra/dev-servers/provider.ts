import type { ProcessRecord } from './native/processes.ts';

/** Where Kafka and the store come from, in order of preference. */
export const providers = ['environment', 'docker', 'native'] as const;
export type Provider = (typeof providers)[number];

export const serverNames = ['kafka', 'store'] as const;
export type ServerName = (typeof serverNames)[number];

/** Both servers. They are reachable at these addresses until `stop`. */
export type Stack = Pick<Started, 'stop' | 'handles' | 'native'> & {
  /** `host:port`, or several separated by commas, as `KAFKA_BROKERS`. */
  kafkaBrokers: string;
  /** As `MONGODB_URL`, without a database name. */
  mongodbUrl: string;
  /** The store's own name and version: "MongoDB 8.0.17 (replica set of one)". */
  store: string;
  how: Record<ServerName, Provider>;
};

/** The servers that one provider has started. */
export type Started = {
  addresses: Addresses;
  /** Stops every process and container that was started. Data and logs stay in `dataDir`. */
  stop(): Promise<void>;
  /** `npm run stack` records them, so that another process can stop a detached stack. */
  handles: { processes: ProcessRecord[]; containers: string[] };
  /** Fault injection; only the native provider has it. */
  native?: NativeControl;
};

/** `KAFKA_BROKERS` and `MONGODB_URL`. */
export type Addresses = Partial<Record<ServerName, string>>;

export type StackOptions = {
  /** Receives one line of progress at a time, without its line end. */
  report: (line: string) => void;
  /** Folder for this run's data and logs; created if missing. Two stacks must not share it. */
  dataDir: string;
  providers?: readonly Provider[];
  /** True: the servers outlive this process. Otherwise they are killed when it dies, for any reason. */
  detached?: boolean;
};

/** The started servers, or a clause that says why this provider is not available on this machine. */
export type Attempt = { started: Started } | { unavailable: string };

/** Fault injection for tests: the native servers alone. Data, ports and addresses stay the same. */
export type NativeControl = {
  /** Kills the server's remaining processes and starts it again. Resolves when it serves. */
  restart(which: ServerName): Promise<void>;
  /** Sends SIGKILL, SIGSTOP, SIGCONT … to all its processes. After SIGKILL, resolves when they have ended. */
  kill(which: ServerName, signal: NodeJS.Signals): Promise<void>;
};
