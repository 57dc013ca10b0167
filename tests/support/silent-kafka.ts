import { join } from 'node:path';
import { installKafka, prepareBroker } from '../../infra/dev-servers/native/kafka.ts';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { startServer } from '../../infra/dev-servers/native/server.ts';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import { createSilentProxy } from './silent-proxy.ts';

/** Starts a broker that sends the clients of a proxy to that proxy. `plain` is its own address. */
export async function startKafkaBehindProxy() {
  await installKafka(() => undefined);
  const { path, remove } = await temporaryFolder('support-read-models-silent-');
  const [broker = 0, controller = 0, behind = 0] = await freePorts(3);
  const proxy = await createSilentProxy(`127.0.0.1:${behind}`);
  const node = { id: 1, broker, controller };
  const settings = {
    listeners: `PLAINTEXT://127.0.0.1:${broker},CONTROLLER://127.0.0.1:${controller},PROXIED://127.0.0.1:${behind}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${broker},PROXIED://${proxy.address}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT',
  };
  const server = await startServer([prepareBroker(join(path, 'kafka'), node, { nodes: [node], settings })]);
  return {
    plain: `127.0.0.1:${broker}`,
    proxy,
    close: async () => {
      await server.kill();
      await proxy.close();
      await remove();
    },
  };
}
