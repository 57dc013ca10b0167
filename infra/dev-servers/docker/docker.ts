import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { reportStep } from '../native/progress.ts';
import { onParentDeath } from '../parent-death.ts';
import type { ServerName, StackOptions, Started } from '../provider.ts';
import { startKafka, startStore } from './containers.ts';
import { findEngine, images, pullImage, removeRun } from './engine.ts';

const reapScript = join('infra', 'dev-servers', 'docker', 'reap.ts');

const servers = {
  kafka: { title: 'Kafka', image: images.kafka, start: startKafka },
  store: { title: 'MongoDB', image: images.mongo, start: startStore },
};

/**
 * Starts a server from the image that docker-compose.yml names, by Testcontainers. If this process dies, `reap.ts`
 * removes the container. The reaper of Testcontainers is disabled: it needs another image and the engine's socket,
 * which are not always available.
 */
export async function startInDocker({ report }: StackOptions, name: ServerName): Promise<Started> {
  const client = await findEngine();
  if (client === undefined) throw new Error('no container engine answers');
  const { host } = client.info.containerRuntime;
  if (!['localhost', '127.0.0.1'].includes(host))
    throw new Error(`the container engine is at ${host}, whose loopback ports this machine cannot reach`);
  const { title, image, start } = servers[name];
  if (!(await reportStep(report, `Image ${image}: pulling if missing`, () => pullImage(client, image))))
    throw new Error(`the engine answers, but image ${image} is missing and cannot be pulled`);
  process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';
  const run = randomUUID();
  const hook = onParentDeath([process.execPath, reapScript, run]);
  const stop = async () => {
    await removeRun(run);
    await hook.revoke();
  };
  try {
    return { address: await reportStep(report, `${title} in Docker: starting`, () => start(run)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
