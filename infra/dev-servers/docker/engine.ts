import type { ContainerRuntimeClient } from 'testcontainers';
import { run } from '../native/run.ts';

/** The label that tells the containers of one run apart. */
export const runLabel = 'support-read-models.run';

/** How long an engine may take to answer before it counts as absent, in milliseconds. */
const probeLimitMs = 3_000;

/**
 * The container engine, or undefined where none answers. The command line is asked first because its answer
 * takes milliseconds; where it is not installed, Testcontainers looks for the engines that it knows.
 */
export async function engine(): Promise<ContainerRuntimeClient | undefined> {
  const asked = await run('docker', ['version', '--format', '{{.Server.Version}}'], {
    limitMs: probeLimitMs,
  });
  if (!asked.ok && !asked.output.includes('ENOENT')) return undefined;
  const { getContainerRuntimeClient } = await import('testcontainers');
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), probeLimitMs);
  });
  const found = getContainerRuntimeClient().catch(() => undefined);
  return Promise.race([found, late]).finally(() => clearTimeout(timer));
}

/** Whether an image is there or could be pulled. */
export async function obtain(client: ContainerRuntimeClient, image: string): Promise<boolean> {
  const { ImageName } = await import('testcontainers');
  const name = ImageName.fromString(image);
  try {
    await client.image.pull(name);
    return await client.image.exists(name);
  } catch {
    return false;
  }
}

/** Those of the containers that run. Without an engine none does. */
export async function containersRunning(ids: string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const client = await engine();
  const running = (await client?.container.list()) ?? [];
  return running
    .filter(({ State }) => State === 'running')
    .flatMap(({ Id }) => (ids.includes(Id) ? [Id] : []));
}

/** All containers that carry the label of a run, whatever their state. */
export async function containersOfRun(run: string): Promise<string[]> {
  const { container } = await stackEngine();
  const filters = { label: [`${runLabel}=${run}`] };
  const found = await container.dockerode.listContainers({ all: true, filters });
  return found.map(({ Id }) => Id);
}

/** Stops and removes containers; those that are gone already are passed over. */
export async function removeContainers(ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const { container } = await stackEngine();
  const remove = (id: string) => container.getById(id).remove({ force: true, v: true });
  const gone = (error: unknown) =>
    String(error).includes('no such container') || String(error).includes('404');
  await Promise.all(
    ids.map((id) =>
      remove(id).catch((error: unknown) => {
        if (!gone(error)) throw error;
      }),
    ),
  );
}

/** The engine, where containers of the stack are known to be. */
async function stackEngine(): Promise<ContainerRuntimeClient> {
  const client = await engine();
  if (client === undefined) throw new Error('The container engine that runs the stack does not answer');
  return client;
}
