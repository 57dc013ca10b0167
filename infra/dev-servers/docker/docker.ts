import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { StartedTestContainer } from 'testcontainers';
import { onParentDeath } from '../parent-death.ts';
import { step } from '../native/progress.ts';
import type { Attempt, Stack, StackOptions } from '../provider.ts';
import { kafkaContainer, mongoContainer, storeUser } from './containers.ts';
import { containersOfRun, engine, images, obtain, removeContainers } from './engine.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';

const reapScript = join('infra', 'dev-servers', 'docker', 'reap.ts');

/** Kafka and MongoDB from the images that docker-compose.yml names, through Testcontainers. */
export async function startInDocker(options: StackOptions): Promise<Attempt> {
  const { report } = options;
  const client = await engine();
  if (client === undefined) return { unavailable: 'no container engine answers' };
  const { host } = client.info.containerRuntime;
  if (!['localhost', '127.0.0.1'].includes(host)) {
    return {
      unavailable: `the container engine is at ${host}, whose loopback ports this machine cannot reach`,
    };
  }
  for (const image of [images.kafka, images.mongo]) {
    if (await step(report, `Image ${image}: pulling if missing`, () => obtain(client, image))) continue;
    const unavailable = `the engine answers, but image ${image} is missing and cannot be pulled`;
    report(`Docker: ${unavailable}`);
    return { unavailable };
  }
  try {
    return { stack: await step(report, 'Kafka and MongoDB in Docker: starting', () => start(options)) };
  } catch (error) {
    const unavailable = `the containers did not start: ${errorMessage(error)}`;
    report(`Docker: ${unavailable}`);
    return { unavailable };
  }
}

/**
 * Unless the stack is detached, its containers are removed when this process dies. Testcontainers' own reaper is
 * disabled: it needs another image and the engine's socket, which are not always available.
 */
async function start({ detached }: StackOptions): Promise<Stack> {
  process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';
  const run = randomUUID();
  const password = randomBytes(16).toString('hex');
  const hook = detached === true ? undefined : onParentDeath([process.execPath, reapScript, run]);
  const [kafka, mongo] = await Promise.allSettled([kafkaContainer(run), mongoContainer(run, password)]);
  const stop = async () => {
    await removeContainers(await containersOfRun(run));
    await hook?.revoke();
  };
  if (kafka.status === 'fulfilled' && mongo.status === 'fulfilled')
    return stackOf(kafka.value, mongo.value, password, stop);
  await stop();
  throw (kafka.status === 'rejected' ? kafka : (mongo as PromiseRejectedResult)).reason;
}

function stackOf(
  kafka: StartedTestContainer,
  mongo: StartedTestContainer,
  password: string,
  stop: Stack['stop'],
): Stack {
  return {
    kafkaBrokers: `${kafka.getHost()}:${kafka.getMappedPort(9092)}`,
    // The replica set names itself by an address inside its container, hence the direct connection.
    mongodbUrl: `mongodb://${storeUser}:${password}@${mongo.getHost()}:${mongo.getMappedPort(27017)}/?directConnection=true`,
    how: 'docker',
    stop,
    handles: { processes: [], containers: [kafka.getId(), mongo.getId()] },
  };
}
