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

const downloadScript = join('infra', 'dev-servers', 'native', 'download-mongod.ts');

/** The next attempt comes a day after a failed download: without internet access an attempt takes 8 s or more. */
const retryAfterMs = 24 * 3_600_000;

export const replicaSet = 'rs0';

/** A program that runs here, or a clause that gives the reason why there is none. */
type FoundMongod = { program: string } | { obstacle: string };

/**
 * Returns the `mongod` that MONGOD names, else that of the PATH, else a download. mongodb-memory-server-core checks the
 * download and keeps it for all projects of this user.
 */
export async function findMongod(report: (line: string) => void): Promise<FoundMongod> {
  const configuredPath = process.env.MONGOD;
  const program = configuredPath ? resolve(configuredPath) : 'mongod';
  if ((await run(program, ['--version'])).ok) return { program };
  if (configuredPath) throw new Error(`MONGOD: ${configuredPath} cannot be run`);
  const downloadedBefore = await locateDownload();
  if (downloadedBefore !== undefined) return tryProgram(downloadedBefore);
  const failure = await recentFailure();
  if (failure !== null) return { obstacle: failure };
  return downloadMongod(report);
}

/** The path of the downloaded program; undefined without a download. */
async function locateDownload(): Promise<string | undefined> {
  const { DryMongoBinary } = await import('mongodb-memory-server-core');
  return DryMongoBinary.locateBinary({ version: mongodVersion });
}

/** The file that contains the obstacle of the last failed download. */
const failureFile = () => join(cacheDir(), `mongod-${mongodVersion}-failed`);

/** The obstacle of a download that failed in the last day; null without one. */
async function recentFailure(): Promise<string | null> {
  const file = failureFile();
  if (!existsSync(file) || Date.now() - statSync(file).mtimeMs >= retryAfterMs) return null;
  return `${await readFile(file, 'utf8')}; the next attempt comes after a day, or once you delete ${file}`;
}

async function downloadMongod(report: (line: string) => void): Promise<FoundMongod> {
  try {
    await reportStep(report, `MongoDB ${mongodVersion}: downloading`, () =>
      mustRun(process.execPath, [downloadScript, mongodVersion]),
    );
  } catch (error) {
    const obstacle = `cannot be downloaded (${errorMessage(error).split('\n').at(-1)})`;
    await mkdir(cacheDir(), { recursive: true });
    await writeFile(failureFile(), obstacle);
    return { obstacle };
  }
  await rm(failureFile(), { force: true });
  const downloaded = await locateDownload();
  return downloaded === undefined ? { obstacle: 'was downloaded, and is damaged' } : tryProgram(downloaded);
}

/** Runs a downloaded program once: a minimal system may lack libraries that it needs, such as libcurl. */
async function tryProgram(program: string): Promise<FoundMongod> {
  const { ok, output } = await run(program, ['--version']);
  return ok ? { program } : { obstacle: `does not run here (${output.trim()})` };
}

/** A replica set of one on a loopback port, without authentication: every user of this machine can access it. */
export function mongodProcess(program: string, dir: string, port: number): ServerProcess {
  const argv = [
    program,
    `--replSet=${replicaSet}`,
    `--dbpath=${dir}`,
    `--port=${port}`,
    '--bind_ip=127.0.0.1',
    '--nounixsocket',
    '--wiredTigerCacheSizeGB=1',
    '--oplogSize=512',
    '--setParameter=diagnosticDataCollectionEnabled=false',
    '--setParameter=ttlMonitorSleepSecs=1',
  ];
  return {
    command: { name: 'MongoDB', argv, cwd: dir, logFile: join(dir, 'mongod.log'), stopSignal: 'SIGTERM' },
    ready: () => becomesPrimary(port),
  };
}

/** Initiates the replica set at its first start. Returns whether the member accepts writes already. */
async function becomesPrimary(port: number): Promise<boolean> {
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
