import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Attempt, NativeServer, Stack, StackOptions } from '../provider.ts';
import { ferretdbPart, installFerretdb } from './ferretdb.ts';
import { installKafka, kafkaDir, kafkaPart } from './kafka.ts';
import { freePorts } from './ports.ts';
import { installPostgres, postgresInstalled, postgresPart } from './postgres.ts';
import { obstacle, provideTools, stackTools } from './prerequisites.ts';
import { step } from './progress.ts';
import { startServer } from './server.ts';
import type { Server } from './server.ts';

/**
 * Kafka from Maven Central, FerretDB from the Go module proxy, and PostgreSQL with DocumentDB from Debian, as
 * processes on free loopback ports. The first run installs them into the cache folder.
 */
export async function startNative(options: StackOptions): Promise<Attempt> {
  const { report } = options;
  const unavailable =
    (await obstacle()) ??
    (await provideTools(report, stackTools({ kafka: !existsSync(kafkaDir()), store: !postgresInstalled() })));
  if (unavailable !== undefined) return { unavailable };
  const installs = [installKafka(report), installPostgres(report), installFerretdb(report)];
  const failed = (await Promise.allSettled(installs)).filter(({ status }) => status === 'rejected');
  if (failed.length > 0) {
    const reasons = failed.map((result) => (result as PromiseRejectedResult).reason as Error);
    return { unavailable: reasons.map(({ message }) => message).join('\n') };
  }
  return { stack: await step(report, 'Kafka and the store: starting', () => startServers(options)) };
}

async function startServers(options: StackOptions): Promise<Stack> {
  const dataDir = resolve(options.dataDir);
  const detached = options.detached === true;
  const [broker = 0, controller = 0, ferretdb = 0] = await freePorts(3);
  const kafkaIn = join(dataDir, 'kafka');
  const postgresIn = join(dataDir, 'postgres');
  await mkdir(kafkaIn, { recursive: true });
  const postgres = await postgresPart(postgresIn, join(dataDir, 'postgres.log'), detached);
  const [kafka, store] = await allOrNone([
    startServer([kafkaPart(kafkaIn, { broker, controller }, detached)]),
    startServer([postgres, ferretdbPart(join(dataDir, 'ferretdb'), postgresIn, ferretdb, detached)]),
  ]);
  const servers: Record<NativeServer, Server> = { kafka, store };
  return {
    kafkaBrokers: `127.0.0.1:${broker}`,
    mongodbUrl: `mongodb://127.0.0.1:${ferretdb}/`,
    how: 'native',
    stop: async () => void (await Promise.all([kafka.stop(), store.stop()])),
    handles: { processes: [...store.processes(), ...kafka.processes()], containers: [] },
    native: {
      restart: (which) => servers[which].restart(),
      kill: (which, signal) => servers[which].kill(signal),
    },
  };
}

/** Returns both servers. If one fails to start, stops the other and rejects with the reason. */
async function allOrNone(starts: [Promise<Server>, Promise<Server>]): Promise<[Server, Server]> {
  const [first, second] = await Promise.allSettled(starts);
  if (first.status === 'fulfilled' && second.status === 'fulfilled') return [first.value, second.value];
  for (const result of [first, second]) if (result.status === 'fulfilled') await result.value.stop();
  const failed = first.status === 'rejected' ? first : second;
  throw (failed as PromiseRejectedResult).reason;
}
