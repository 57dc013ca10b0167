import { join } from 'node:path';
import { storeAnswers } from '../store.ts';
import { cacheDir, installOnce } from './cache.ts';
import { withGo } from './go.ts';
import { acceptsConnections } from './ports.ts';
import { reportStep } from './progress.ts';
import type { ServerProcess } from './server.ts';

const ferretdbVersion = '2.7.0';
const goModule = `github.com/FerretDB/FerretDB/v2/cmd/ferretdb@v${ferretdbVersion}`;

/** The maximum of FerretDB's connections to PostgreSQL, which takes 200: the others are for PostgreSQL's own jobs. */
const poolSizeMax = 100;

const binDir = () => join(cacheDir(), `ferretdb-${ferretdbVersion}`);

/** Builds FerretDB from its Go module. On a machine without Go, its installation takes several minutes more. */
export async function installFerretdb(report: (line: string) => void): Promise<void> {
  await installOnce(binDir(), (partial) =>
    reportStep(report, `FerretDB ${ferretdbVersion}: building with Go (about 1 minute)`, () =>
      withGo(partial, (go) => go.run('install', goModule)),
    ),
  );
}

/**
 * FerretDB speaks MongoDB's protocol on a loopback port and stores the documents in PostgreSQL. Every user of this
 * machine can access it, because it has no authentication.
 */
export function ferretdbProcess(dir: string, postgresDir: string, port: number): ServerProcess {
  // Names PostgreSQL's socket by the working folder, because the full path could exceed the limit of 107 bytes.
  const postgres = `postgres://postgres@/postgres?host=/proc/self/cwd&pool_max_conns=${poolSizeMax}`;
  const argv = [
    join(binDir(), 'ferretdb'),
    `--postgresql-url=${postgres}`,
    `--listen-addr=127.0.0.1:${port}`,
    '--no-auth',
    '--telemetry=disable',
    '--debug-addr=-',
    `--state-dir=${dir}`,
    '--log-level=ERROR',
  ];
  return {
    command: {
      name: 'FerretDB',
      argv,
      cwd: postgresDir,
      logFile: join(dir, 'ferretdb.log'),
      stopSignal: 'SIGTERM',
    },
    ready: async () => (await acceptsConnections(port)) && storeAnswers(`mongodb://127.0.0.1:${port}/`),
  };
}
