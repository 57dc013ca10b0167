import type { Stack } from '../../infra/dev-servers/provider.ts';
import { startStack } from '../../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import { createPublisher, type Publisher } from '../convergence/publisher.ts';
import type { Event } from '../support/events.ts';
import type { Servers } from '../support/test-environment.ts';
import { useProjector } from '../support/use-projector.ts';
import { expectCommittedHasEffect, expectConverged } from './oracle.ts';

/** A failure names the seed. Set `SEED` to reproduce it. */
export const seed = Number(process.env.SEED ?? 1);

/** A group removes a member after two seconds without a heartbeat, so a test need not wait for the default time. */
export const shortSession = { KAFKA_SESSION_TIMEOUT_MS: '2000' };

/**
 * A Kafka and a MongoDB that the tests of a `describe` may kill and restart. A restarted server has the same port and
 * data. Each test has its own topics, databases and publisher.
 */
export function useFaultServers({ transactional = false } = {}) {
  let servers: { addresses: Servers; native: Stack['servers']; stop: () => Promise<void> };
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers.stop());
  const { environment, applied, startProcess, ...projector } = useProjector({
    partitions: 2,
    each: true,
    projectors: 0,
    servers: () => servers.addresses,
  });
  let publisher: Publisher;
  const controlsOf = (name: 'kafka' | 'store') => {
    const server = servers.native[name];
    if (!server?.kill || !server.restart) throw new Error(`${name} cannot be killed and restarted`);
    return { kill: server.kill, restart: server.restart };
  };
  beforeEach(async () => {
    publisher = await createPublisher(environment, seed, { transactional });
  });
  afterEach(() => publisher[Symbol.asyncDispose]());
  return {
    ...projector,
    environment,
    applied,
    publish: (events: Event[]) => publisher.publish(events),
    start: (settings: Record<string, string> = {}) => startProcess({ ...shortSession, ...settings }),
    killServer: (name: 'kafka' | 'store') => controlsOf(name).kill(),
    restartServer: (name: 'kafka' | 'store') => controlsOf(name).restart(),
    expectConverged: async () => {
      await applied();
      await expectConverged(environment, seed, publisher.acknowledged);
    },
    expectCommittedHasEffect: () => expectCommittedHasEffect(environment, seed),
  };
}

async function startServers() {
  const { path, remove } = await temporaryFolder('support-read-models-faults-');
  const stack = await startStack({ report: () => undefined, dataDir: path, providers: ['native'] });
  return {
    addresses: { KAFKA_BROKERS: stack.kafkaBrokers, MONGODB_URL: stack.mongodbUrl },
    native: stack.servers,
    stop: async () => {
      await stack.stop();
      await remove();
    },
  };
}
