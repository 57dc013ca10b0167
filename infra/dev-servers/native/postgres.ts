import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installOnce } from './cache.ts';
import { installDebianRoot } from './debian-root.ts';
import { reportStep } from './progress.ts';
import { mustRun } from './run.ts';
import type { ServerProcess } from './server.ts';
import { startServer } from './server.ts';

/**
 * Lines for postgresql.conf. Without `extended_rum` as the index handler, or with bitmap scans, no index answers a
 * sort, and a sorted page costs as much as its whole range. `fsync = off` loses data only if the machine loses power:
 * commits still wait for the write-ahead log.
 */
const postgresSettings = `
listen_addresses = ''
unix_socket_directories = '/data'
max_connections = 200
shared_buffers = 512MB
work_mem = 32MB
maintenance_work_mem = 256MB
dynamic_shared_memory_type = mmap
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = 2GB
checkpoint_timeout = 15min
jit = off
max_parallel_workers_per_gather = 0
enable_bitmapscan = off
log_min_messages = error
log_min_error_statement = fatal
shared_preload_libraries = 'pg_cron,pg_documentdb_core,pg_documentdb,pg_documentdb_extended_rum'
cron.database_name = 'postgres'
cron.host = '/data'
cron.log_run = off
cron.log_statement = off
documentdb.localhost_connection_string = 'host=/data'
documentdb.alternate_index_handler_name = 'extended_rum'
documentdb.enable_merge_sort_for_in_prefix = on
`;

const prepareStatements = [
  'create extension documentdb cascade',
  'create extension documentdb_extended_rum cascade',
];

const programs = '/usr/lib/postgresql/18/bin';

/** The path of the data folder inside the root file system. */
const mountPoint = '/data';

const rootDir = () => join(cacheDir(), 'documentdb-sid-1');

/**
 * An initialized, empty data folder that each run copies. The name depends on the settings, so a changed setting makes
 * a new folder.
 */
const templateDir = () => {
  const hash = createHash('sha256').update(postgresSettings).update(prepareStatements.join()).digest('hex');
  return join(cacheDir(), `documentdb-template-${hash.slice(0, 8)}`);
};

export const postgresInstalled = (): boolean => existsSync(rootDir());

/** Installs Debian sid's PostgreSQL 18 with DocumentDB in its own root file system: the host's Debian has neither. */
export async function installPostgres(report: (line: string) => void): Promise<void> {
  await installOnce(rootDir(), (partial) =>
    reportStep(report, 'PostgreSQL 18 with DocumentDB: installing (657 MB on disk)', async () => {
      await installDebianRoot(partial, ['postgresql-18-documentdb']);
      await mkdir(join(partial, mountPoint));
    }),
  );
  await installOnce(templateDir(), (partial) =>
    reportStep(report, 'PostgreSQL 18 with DocumentDB: initializing', () => initialize(partial)),
  );
}

async function initialize(dir: string): Promise<void> {
  const data = join(dir, 'data');
  await mkdir(data, { mode: 0o700 });
  const uid = await mustRun('chroot', [rootDir(), 'id', '-u', 'postgres']);
  await mustRun('chown', [uid.trim(), data]);
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--encoding=UTF8'];
  await inRoot(data, [`${programs}/initdb`, '-D', mountPoint, '-U', 'postgres', '-A', 'trust', ...locale]);
  await appendFile(join(data, 'postgresql.conf'), postgresSettings);
  const server = await startServer([postgresProcess(data, join(dir, 'initialize.log'))]);
  const statements = prepareStatements.flatMap((statement) => ['-c', statement]);
  try {
    await inRoot(data, ['psql', '-h', mountPoint, '-U', 'postgres', '-v', 'ON_ERROR_STOP=1', ...statements]);
  } finally {
    await server.stop();
  }
}

/** Copies a missing data folder from the template. The server listens only on a socket in that folder. */
export async function preparePostgres(dir: string, logFile: string): Promise<ServerProcess> {
  if (!existsSync(dir)) {
    await mustRun('cp', ['--archive', '--reflink=auto', join(templateDir(), 'data'), dir]);
  }
  return postgresProcess(dir, logFile);
}

function postgresProcess(data: string, logFile: string): ServerProcess {
  const argv = enterRoot(data, [`${programs}/postgres`, '-D', mountPoint]);
  return {
    // SIGINT is PostgreSQL's fast shutdown: it ends the sessions, writes a checkpoint and exits. After a SIGKILL, an
    // insertion into one of DocumentDB's RUM indexes may loop forever. Clients see no difference: FerretDB ends first.
    command: { name: 'PostgreSQL', argv, cwd: data, logFile, stopSignal: 'SIGINT', mustEndOrderly: true },
    ready: (pid) => Promise.resolve(postmasterIsReady(data, pid)),
  };
}

/** Compares the pid in the pid file's first line, because an old file may survive a kill. Line 8 is the status. */
function postmasterIsReady(data: string, pid: number): boolean {
  const file = join(data, 'postmaster.pid');
  if (!existsSync(file)) return false;
  const lines = readFileSync(file, 'utf8').split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

const inRoot = (data: string, command: string[]) => {
  const [file = '', ...args] = enterRoot(data, command);
  return mustRun(file, args);
};

/**
 * Returns the command line that runs a command as the user postgres inside the root file system, with `data` mounted
 * there. The mount exists only in the mount namespace of the command: it ends with the command, and other runs do not
 * see it. Every step replaces the previous one (`exec`), so the pid is that of the command itself.
 */
function enterRoot(data: string, command: string[]): string[] {
  const mountAndEnter = `mount --bind "$0" "$1${mountPoint}" && exec chroot "$@"`;
  // The kernel clears the parent-death signal on a change of user, so the same setpriv sets both.
  const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--pdeathsig=QUIT'];
  const unshare = ['unshare', '--mount', '--propagation', 'private'];
  const enter = ['sh', '-c', mountAndEnter, data, rootDir()];
  return [...unshare, ...enter, ...asPostgres, '--', ...command];
}
