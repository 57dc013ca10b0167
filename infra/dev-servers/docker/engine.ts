import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerRuntimeClient } from 'testcontainers';
import { kafkaVersion } from '../native/kafka-settings.ts';
import { run } from '../native/run.ts';

/** The images that docker-compose.yml names, and the base image of the services. A test compares them. */
export const images = {
  kafka: `apache/kafka:${kafkaVersion}`,
  mongo: 'mongo:8.0.32',
  node: 'node:26.10.0-bookworm-slim',
  valkey: 'valkey/valkey:8.1.3-alpine',
  proxy: 'haproxy:3.2.3-alpine',
};

/** The label that marks the containers of one run. */
export const runLabel = 'support-read-models.run';

/** An engine that does not answer within this time counts as absent. A busy machine needs several seconds. */
const probeLimitMs = 20_000;

/**
 * Returns the container engine, or undefined if no engine answers. Tries the `docker` command first, which answers
 * within milliseconds. If it is not installed, Testcontainers looks for the engines that it supports.
 */
export async function findEngine(): Promise<ContainerRuntimeClient | undefined> {
  const docker = await run('docker', ['version', '--format', '{{.Server.Version}}'], {
    limitMs: probeLimitMs,
  });
  if (!docker.ok && !docker.isMissing) return undefined;
  const { getContainerRuntimeClient } = await import('testcontainers');
  const client = getContainerRuntimeClient().catch(() => undefined);
  return Promise.race([client, sleep(probeLimitMs, undefined, { ref: false })]);
}

/** Makes an image available. Returns whether it is. `pull` of Testcontainers does nothing if the image is present. */
export async function pullImage(client: ContainerRuntimeClient, image: string): Promise<boolean> {
  const { ImageName } = await import('testcontainers');
  const name = ImageName.fromString(image);
  try {
    await client.image.pull(name);
    return await client.image.exists(name);
  } catch {
    return false;
  }
}

/** Stops and removes all containers of a run, in any state. */
export async function removeRun(runId: string): Promise<void> {
  const client = await findEngine();
  if (client === undefined)
    throw new Error('The container engine that runs the stack does not answer: is Docker running?');
  const filters = { label: [`${runLabel}=${runId}`] };
  const containers = await client.container.dockerode.listContainers({ all: true, filters });
  await Promise.all(containers.map(({ Id }) => removeContainer(client, Id)));
}

/** Does nothing if the container is already gone. */
async function removeContainer(client: ContainerRuntimeClient, id: string): Promise<void> {
  try {
    await client.container.getById(id).remove({ force: true, v: true });
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode !== 404) throw error;
  }
}
