import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { onParentDeath } from '../parent-death.ts';
import { step } from '../native/progress.ts';
import type { Attempt, ServerName, StackOptions, Started } from '../provider.ts';
import { kafkaContainer, mongoContainer, storeUser } from './containers.ts';
import { containersOfRun, engine, images, obtain, removeContainers } from './engine.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';

const reapScript = join('infra', 'dev-servers', 'docker', 'reap.ts');

const names = { kafka: 'Kafka', store: 'MongoDB' };

/** Servers from the images that docker-compose.yml names, through Testcontainers. */
export async function startInDocker(options: StackOptions, needed: readonly ServerName[]): Promise<Attempt> {
  const { report } = options;
  const client = await engine();
  if (client === undefined) return { unavailable: 'no container engine answers' };
  const refused = (unavailable: string): Attempt => {
    report(`Docker: ${unavailable}`);
    return { unavailable };
  };
  const { host } = client.info.containerRuntime;
  if (!['localhost', '127.0.0.1'].includes(host))
    return refused(`the container engine is at ${host}, whose loopback ports this machine cannot reach`);
  const neededImages = { kafka: images.kafka, store: images.mongo };
  for (const image of needed.map((name) => neededImages[name])) {
    if (await step(report, `Image ${image}: pulling if missing`, () => obtain(client, image))) continue;
    return refused(`the engine answers, but image ${image} is missing and cannot be pulled`);
  }
  const title = `${needed.map((name) => names[name]).join(' and ')} in Docker: starting`;
  try {
    return { started: await step(report, title, () => start(options, needed)) };
  } catch (error) {
    return refused(`the containers did not start: ${errorMessage(error)}`);
  }
}

/**
 * Unless the stack is detached, its containers are removed when this process dies. Testcontainers' own reaper is
 * disabled: it needs another image and the engine's socket, which are not always available.
 */
async function start({ detached }: StackOptions, needed: readonly ServerName[]): Promise<Started> {
  process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';
  const run = randomUUID();
  const hook = detached === true ? undefined : onParentDeath([process.execPath, reapScript, run]);
  const starts = { kafka: startKafka, store: startStore };
  const results = await Promise.allSettled(
    needed.map(async (name) => ({ name, ...(await starts[name](run)) })),
  );
  const stop = async () => {
    await removeContainers(await containersOfRun(run));
    await hook?.revoke();
  };
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (started.length < needed.length) {
    await stop();
    throw results.find((result) => result.status === 'rejected')?.reason;
  }
  return {
    addresses: Object.fromEntries(started.map(({ name, address }) => [name, address])),
    stop,
    handles: { processes: [], containers: started.map(({ id }) => id) },
  };
}

async function startKafka(run: string) {
  const container = await kafkaContainer(run);
  return { id: container.getId(), address: `${container.getHost()}:${container.getMappedPort(9092)}` };
}

/** The replica set names itself by an address inside its container, hence the direct connection. */
async function startStore(run: string) {
  const password = randomBytes(16).toString('hex');
  const container = await mongoContainer(run, password);
  const host = `${container.getHost()}:${container.getMappedPort(27017)}`;
  return {
    id: container.getId(),
    address: `mongodb://${storeUser}:${password}@${host}/?directConnection=true`,
  };
}
