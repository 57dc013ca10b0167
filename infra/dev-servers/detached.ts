import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { containersRunning, removeContainers } from './docker/engine.ts';
import { cacheDir, withLock } from './native/cache.ts';
import { isRunning, stopProcess } from './native/processes.ts';
import type { Stack } from './provider.ts';
import { startStack } from './stack.ts';

/** A stack that outlives the process that started it, as `npm run stack` records it on disk. */
type DetachedStack = Pick<Stack, 'kafkaBrokers' | 'mongodbUrl' | 'store' | 'how' | 'handles'> & {
  dataDir: string;
};

type ServerState = { line: string; running: boolean };

/** The folder of this clone's stack: another clone has servers and data of its own. */
const dir = () => {
  const clone = new URL('../..', import.meta.url).pathname;
  return join(cacheDir(), 'stack', createHash('sha256').update(clone).digest('hex').slice(0, 12));
};
const stateFile = () => join(dir(), 'stack.json');

export async function recorded(): Promise<DetachedStack | undefined> {
  if (!existsSync(stateFile())) return undefined;
  return JSON.parse(await readFile(stateFile(), 'utf8')) as DetachedStack;
}

/** Starts a stack and records it, unless the recorded one is running. Stops the remains of a broken one first. */
export const bringUp = (report: (line: string) => void): Promise<DetachedStack> =>
  exclusively(async () => {
    const before = await recorded();
    if (before !== undefined) {
      const states = await stateOf(before);
      if (states.every(({ running }) => running)) {
        report('The stack is already up.');
        return before;
      }
      await stopRecorded(before);
    }
    const dataDir = join(dir(), 'data');
    await rm(dataDir, { recursive: true, force: true });
    const started = await startStack({ report, dataDir, providers: ['docker', 'native'], detached: true });
    const { kafkaBrokers, mongodbUrl, store, how, handles } = started;
    const detached = { kafkaBrokers, mongodbUrl, store, how, handles, dataDir };
    // The store's address may contain its password.
    await writeFile(stateFile(), `${JSON.stringify(detached, null, 2)}\n`, { mode: 0o600 });
    return detached;
  });

/** Stops the recorded servers that still run and removes their data. Does nothing if no stack is recorded. */
export const bringDown = (report: (line: string) => void): Promise<void> =>
  exclusively(async () => {
    const detached = await recorded();
    if (detached === undefined) return report('The stack is not up.');
    await stopRecorded(detached);
    const { processes, containers } = detached.handles;
    const names = [...processes.map(({ name, pid }) => `${name} (pid ${pid})`), ...containers.map(shortId)];
    report(`Stopped ${names.join(', ')} and removed the data.`);
  });

/** One line for each server: its name, whether it is running, its pid or container, its address. */
export async function stateOf(detached: DetachedStack | undefined): Promise<ServerState[]> {
  if (detached === undefined) return [{ line: 'The stack is not up.', running: false }];
  const { kafkaBrokers, mongodbUrl, store, handles } = detached;
  const running = await containersRunning(handles.containers);
  const servers = [
    ...handles.processes.map((record) => ({
      name: record.name,
      running: isRunning(record),
      id: `pid ${record.pid}`,
    })),
    ...handles.containers.map((id, index) => ({
      name: index === 0 ? 'Kafka' : 'MongoDB',
      running: running.includes(id),
      id: `container ${shortId(id)}`,
    })),
  ].map((server) => {
    if (server.name === 'Kafka') return { ...server, address: kafkaBrokers };
    const isStore = server.name === 'MongoDB' || server.name === 'FerretDB';
    return isStore ? { ...server, name: store, address: mongodbUrl } : { ...server, address: '' };
  });
  const width = Math.max(...servers.map(({ name }) => name.length));
  return servers.map(({ name, running: isUp, id, address }) => ({
    line: `${name.padEnd(width)} ${(isUp ? 'running' : 'not running').padEnd(12)} ${id.padEnd(24)} ${address}`.trimEnd(),
    running: isUp,
  }));
}

/** A container's id, as short as `docker ps` prints it. */
const shortId = (id: string) => id.slice(0, 12);

async function stopRecorded({ handles, dataDir }: DetachedStack): Promise<void> {
  // FerretDB needs PostgreSQL, so the servers stop in reverse order of their start.
  for (const record of [...handles.processes].reverse()) await stopProcess(record);
  await removeContainers(handles.containers);
  await rm(stateFile());
  await rm(dataDir, { recursive: true, force: true });
}

async function exclusively<T>(work: () => Promise<T>): Promise<T> {
  await mkdir(dir(), { recursive: true });
  return withLock(join(dir(), 'lock'), work);
}
