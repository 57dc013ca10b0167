import { mkdir } from 'node:fs/promises';
import { startInDocker } from './docker/docker.ts';
import { fromEnvironment } from './environment.ts';
import { startNative } from './native/native.ts';
import { providers, type Attempt, type Provider, type Stack, type StackOptions } from './provider.ts';

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
