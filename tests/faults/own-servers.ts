import { rm } from 'node:fs/promises';
import type { NativeControl } from '../../infra/dev-servers/provider.ts';
import { startStack } from '../../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import type { Servers } from '../support/test-environment.ts';

/** A Kafka and a store that a test may kill and restart, on the same ports and data. */
export type OwnServers = { addresses: Servers; control: NativeControl; stop: () => Promise<void> };

export async function startOwnServers(): Promise<OwnServers> {
  const { path, release } = await temporaryFolder('support-read-models-faults-');
  const stack = await startStack({ report: () => undefined, dataDir: path, providers: ['native'] });
  if (!stack.native) throw new Error('only native servers can be killed and restarted');
  return {
    addresses: { KAFKA_BROKERS: stack.kafkaBrokers, MONGODB_URL: stack.mongodbUrl },
    control: stack.native,
    stop: async () => {
      await stack.stop();
      await rm(path, { recursive: true, force: true });
      await release();
    },
  };
}
