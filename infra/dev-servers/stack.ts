import { mkdir } from 'node:fs/promises';
import { startInDocker } from './docker/docker.ts';
import { fromEnvironment } from './environment.ts';
import { startNative } from './native/native.ts';
import type { NativeControl } from './native/native.ts';
import type { ProcessRecord } from './native/processes.ts';

/** Ways to a Kafka and a store, in order of preference. */
export const providers = ['environment', 'docker', 'native'] as const;
export type Provider = (typeof providers)[number];

/** Both servers, reachable at the addresses given, until `stop`. */
export type Stack = {
  /** `host:port`, or several separated by commas, as `KAFKA_BROKERS`. */
  kafkaBrokers: string;
  /** As `MONGODB_URL`; no database is named in it. */
  mongodbUrl: string;
  how: Provider;
  /** Ends every process and container that was started; data and logs stay in `dataDir`. */
  stop(): Promise<void>;
  /** What `npm run stack` records, to end a lasting stack from another process. */
  handles: Handles;
  /** Fault injection; only where the servers are this machine's own processes. */
  native?: NativeControl;
};

export type Handles = { processes: ProcessRecord[]; containers: string[] };

export type StackOptions = {
  /** Receives one plain line of progress at a time, without its line end. */
  report: (line: string) => void;
  /** Folder of this run's data and logs; created when absent. Two stacks must not share one. */
  dataDir: string;
  providers?: readonly Provider[];
  /** True: the servers outlive this process. Otherwise they are killed when it dies, however it dies. */
  detached?: boolean;
  environment?: Record<string, string | undefined>;
};

/** A started stack, or in a clause why this way is not open on this machine. */
export type Attempt = { stack: Stack } | { unavailable: string };

const start: Record<Provider, (options: StackOptions) => Promise<Attempt>> = {
  environment: async (options) => fromEnvironment(options.environment ?? process.env),
  docker: startInDocker,
  native: startNative,
};

/**
 * A Kafka and a MongoDB (or a server that speaks its protocol), by the first way that is open: addresses
 * given in the environment, Docker, or servers installed into the user's cache folder. Rejects with one
 * message that lists why none was open.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  await mkdir(options.dataDir, { recursive: true });
  const reasons: string[] = [];
  for (const provider of options.providers ?? providers) {
    const attempt = await start[provider](options);
    if ('stack' in attempt) return attempt.stack;
    reasons.push(`  ${provider}: ${attempt.unavailable}`);
  }
  throw new Error(`No Kafka and MongoDB to work with:\n${reasons.join('\n')}`);
}
