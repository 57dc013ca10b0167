import { mkdir } from 'node:fs/promises';
import { startInDocker } from './docker/docker.ts';
import { fromEnvironment } from './environment.ts';
import { startNative } from './native/native.ts';
import type { NativeControl } from './native/native.ts';
import type { ProcessRecord } from './native/processes.ts';

/** Where Kafka and the store come from, in order of preference. */
export const providers = ['environment', 'docker', 'native'] as const;
export type Provider = (typeof providers)[number];

/** Both servers. They are reachable at these addresses until `stop`. */
export type Stack = {
  /** `host:port`, or several separated by commas, as `KAFKA_BROKERS`. */
  kafkaBrokers: string;
  /** As `MONGODB_URL`, without a database name. */
  mongodbUrl: string;
  how: Provider;
  /** Stops every process and container that was started. Data and logs stay in `dataDir`. */
  stop(): Promise<void>;
  /** `npm run stack` records them, so that another process can stop a detached stack. */
  handles: Handles;
  /** Fault injection; only the native provider has it. */
  native?: NativeControl;
};

export type Handles = { processes: ProcessRecord[]; containers: string[] };

export type StackOptions = {
  /** Receives one line of progress at a time, without its line end. */
  report: (line: string) => void;
  /** Folder for this run's data and logs; created if missing. Two stacks must not share it. */
  dataDir: string;
  providers?: readonly Provider[];
  /** True: the servers outlive this process. Otherwise they are killed when it dies, for any reason. */
  detached?: boolean;
  environment?: Record<string, string | undefined>;
};

/** A started stack, or a clause that says why this provider is not available on this machine. */
export type Attempt = { stack: Stack } | { unavailable: string };

const start: Record<Provider, (options: StackOptions) => Promise<Attempt>> = {
  environment: async (options) => fromEnvironment(options.environment ?? process.env),
  docker: startInDocker,
  native: startNative,
};

/**
 * Starts Kafka and MongoDB (or a server that speaks its protocol) with the first available provider: addresses in
 * the environment, Docker, or servers installed into the user's cache folder. If none is available, rejects with
 * one message that lists the reasons.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  await mkdir(options.dataDir, { recursive: true });
  const reasons: string[] = [];
  for (const provider of options.providers ?? providers) {
    const attempt = await start[provider](options);
    if ('stack' in attempt) return attempt.stack;
    reasons.push(`  ${provider}: ${attempt.unavailable}`);
  }
  throw new Error(`No provider of Kafka and MongoDB is available:\n${reasons.join('\n')}`);
}
