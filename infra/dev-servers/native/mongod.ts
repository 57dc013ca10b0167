import { existsSync, statSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { MongoClient } from 'mongodb';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { images } from '../docker/engine.ts';
import { cacheDir } from './cache.ts';
import { acceptsConnections } from './ports.ts';
import { reportStep } from './progress.ts';
import { mustRun, run } from './run.ts';
import type { ServerProcess } from './server.ts';

/** The version to download, which is that of the image. */
const mongodVersion = images.mongo.slice('mongo:'.length);

const download = join('infra', 'dev-servers', 'native', 'download-mongod.ts');

/** The next attempt comes a day after a failed download: without internet access an attempt takes 8 s or more. */
const retryAfterMs = 24 * 3_600_000;

export const replicaSet = 'rs0';

/**
 * Returns the `mongod` that MONGOD names, else that of the PATH, else a download. mongodb-memory-server-core checks the
 * download and keeps it for all projects of this user. Without a `mongod`, returns a clause that gives the reason.
 */
export async function findMongod(
  report: (line: string) => void,
): Promise<{ program: string } | { obstacle: string }> {
  const named = process.env.MONGOD;
  const program = named ? resolve(named) : 'mongod';
  if ((await run(program, ['--version'])).ok) return { program };
  if (named) throw new Error(`MONGOD: ${named} cannot be run`);
  const { DryMongoBinary } = await import('mongodb-memory-server-core');
  const locate = () => DryMongoBinary.locateBinary({ version: mongodVersion });
  const present = await locate();
  if (present !== undefined) return tryProgram(present);
  const failed = join(cacheDir(), `mongod-${mongodVersion}-failed`);
  if (existsSync(failed) && Date.now() - statSync(failed).mtimeMs < retryAfterMs)
    return { obstacle: `${await readFile(failed, 'utf8')}; tried once a day, or without ${failed}` };
  try {
    await reportStep(report, `MongoDB ${mongodVersion}: downloading`, () =>
      mustRun(process.execPath, [download, mongodVersion]),
    );
  } catch (error) {
    const obstacle = `cannot be downloaded (${errorMessage(error).split('\n').at(-1)})`;
    await mkdir(cacheDir(), { recursive: true });
    await writeFile(failed, obstacle);
    return { obstacle };
  }
  await rm(failed, { force: true });
  const downloaded = await locate();
  return downloaded === undefined ? { obstacle: 'was downloaded, and is damaged' } : tryProgram(downloaded);
}

/** Runs a downloaded program once: a minimal system may lack libraries that it needs, such as libcurl. */
async function tryProgram(program: string): Promise<{ program: string } | { obstacle: string }> {
  const { ok, output } = await run(program, ['--version']);
  return ok ? { program } : { obstacle: `does not run here (${output.trim()})` };
}

/** A replica set of one on a loopback port, without authentication: every user of this machine can access it. */
export function mongodProcess(program: string, dir: string, port: number): ServerProcess {
  const settings = ['diagnosticDataCollectionEnabled=false', 'ttlMonitorSleepSecs=1'];
  const argv = [
    ...[program, '--replSet', replicaSet, '--dbpath', dir, '--port', String(port)],
    ...['--bind_ip', '127.0.0.1', '--nounixsocket', '--wiredTigerCacheSizeGB', '1', '--oplogSize', '512'],
    ...settings.flatMap((setting) => ['--setParameter', setting]),
  ];
  return {
    command: { name: 'MongoDB', argv, cwd: dir, logFile: join(dir, 'mongod.log'), stopSignal: 'SIGTERM' },
    ready: () => isPrimary(port),
  };
}

/** Whether the member accepts writes. Initiates the replica set at its first start. */
async function isPrimary(port: number): Promise<boolean> {
  if (!(await acceptsConnections(port))) return false;
  const host = `127.0.0.1:${port}`;
  await using client = new MongoClient(`mongodb://${host}/?directConnection=true`, {
    serverSelectionTimeoutMS: 2_000,
  });
  const admin = client.db('admin');
  try {
    const { setName, isWritablePrimary } = await admin.command({ hello: 1 });
    if (setName === undefined)
      await admin.command({ replSetInitiate: { _id: replicaSet, members: [{ _id: 0, host }] } });
    return isWritablePrimary === true;
  } catch {
    return false;
  }
}
