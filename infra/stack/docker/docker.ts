import type { ContainerRuntimeClient, StartedTestContainer } from 'testcontainers';
import { step } from '../native/progress.ts';
import type { Attempt, Stack, StackOptions } from '../stack.ts';
import { kafkaContainer, mongoContainer } from './containers.ts';
import { engine, obtain } from './engine.ts';
import { images } from './images.ts';

/** Kafka and MongoDB from the images that docker-compose.yml names, through Testcontainers. */
export async function startInDocker(options: StackOptions): Promise<Attempt> {
  const { report } = options;
  const client = await engine();
  if (client === undefined) return { unavailable: 'no container engine answers' };
  for (const image of [images.kafka, images.mongo]) {
    if (await step(report, `Image ${image}: pulling unless it is there`, () => obtain(client, image)))
      continue;
    const unavailable = `the engine answers, but image ${image} is not there and cannot be pulled`;
    report(`Docker: ${unavailable}`);
    return { unavailable };
  }
  await decideOnReaper(client, options);
  try {
    return { stack: await step(report, 'Kafka and MongoDB in Docker: starting', startContainers) };
  } catch (error) {
    const unavailable = `the containers did not start: ${error instanceof Error ? error.message : String(error)}`;
    report(`Docker: ${unavailable}`);
    return { unavailable };
  }
}

/**
 * Testcontainers' reaper removes the containers when this process dies. A lasting stack must not have it, and
 * where its image cannot be had the rest works without: then only `stop` removes the containers.
 */
async function decideOnReaper(client: ContainerRuntimeClient, options: StackOptions): Promise<void> {
  const image = process.env.RYUK_CONTAINER_IMAGE ?? 'testcontainers/ryuk:0.14.0';
  if (options.lasting !== true && (await obtain(client, image))) return;
  process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';
}

async function startContainers(): Promise<Stack> {
  const [kafka, mongo] = await Promise.allSettled([kafkaContainer(), mongoContainer()]);
  if (kafka.status === 'rejected' || mongo.status === 'rejected') {
    for (const result of [kafka, mongo]) if (result.status === 'fulfilled') await result.value.stop();
    throw (kafka.status === 'rejected' ? kafka : (mongo as PromiseRejectedResult)).reason;
  }
  return stackOf(kafka.value, mongo.value);
}

function stackOf(kafka: StartedTestContainer, mongo: StartedTestContainer): Stack {
  return {
    kafkaBrokers: `${kafka.getHost()}:${kafka.getMappedPort(9092)}`,
    // The replica set names itself by an address inside its container, hence the direct connection.
    mongodbUrl: `mongodb://${mongo.getHost()}:${mongo.getMappedPort(27017)}/?directConnection=true`,
    how: 'docker',
    stop: async () => void (await Promise.all([kafka.stop(), mongo.stop()])),
    leavings: { processes: [], containers: [kafka.getId(), mongo.getId()] },
  };
}
