import { spawn } from 'node:child_process';
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { images } from '../../infra/dev-servers/docker/engine.ts';
import { cacheDir, installedOnce } from '../../infra/dev-servers/native/cache.ts';
import { debianRoot } from '../../infra/dev-servers/native/debian-root.ts';
import { installFerretdb, binDir } from '../../infra/dev-servers/native/ferretdb.ts';
import { installKafka } from '../../infra/dev-servers/native/kafka.ts';
import { findMongod } from '../../infra/dev-servers/native/mongod.ts';
import { installPostgres, rootDir, templateDir } from '../../infra/dev-servers/native/postgres.ts';
import { step } from '../../infra/dev-servers/native/progress.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { storeChoice } from '../../infra/dev-servers/store.ts';

/**
 * Builds the images that are missing under the names that docker-compose.yml uses, for a machine with a container
 * engine and package registries but no image registry: `node tests/stand-in-images/main.ts`, as root on Debian. Kafka's
 * image has the same broker and entry point class as the published one. MongoDB's image has the `mongod` that the development
 * servers would use, with an entry point that treats the published one's arguments and variables; without a `mongod`,
 * FerretDB on PostgreSQL.
 */
const report = (line: string) => void process.stderr.write(`${line}\n`);
const here = join('tests', 'stand-in-images');
const trusted = '/etc/ssl/certs/ca-certificates.crt';

const present = async (image: string) =>
  mustRun('docker', ['image', 'inspect', image]).then(
    () => true,
    () => false,
  );

/** Imports a root file system as an image, without the device files, which the engine creates itself. */
async function importRoot(root: string, image: string): Promise<void> {
  const tar = spawn('tar', ['--exclude=./dev/*', '-C', root, '-c', '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const docker = spawn('docker', ['import', '-', image], { stdio: ['pipe', 'ignore', 'inherit'] });
  const imported = new Promise<number | null>((resolve) => docker.once('close', resolve));
  await pipeline(tar.stdout, docker.stdin);
  if ((await imported) !== 0) throw new Error(`docker import of ${image} failed`);
}

/** Builds a Dockerfile of this folder, with the files and folders that it copies in its context. */
async function build(folder: string, image: string, files: Record<string, string>): Promise<void> {
  const context = join(cacheDir(), `stand-in-context-${folder}`);
  await rm(context, { recursive: true, force: true });
  await mkdir(context, { recursive: true });
  for (const [name, from] of Object.entries(files)) await mustRun('cp', ['-a', from, join(context, name)]);
  await cp(join(here, folder), context, { recursive: true });
  await mustRun('docker', ['build', '--tag', image, context], { env: { DOCKER_BUILDKIT: '0' } });
  await rm(context, { recursive: true });
}

/** Builds a base image: a root file system of Debian sid with `packages`. */
async function base(name: string, packages: string[]): Promise<void> {
  const image = `stand-in-${name}`;
  if (await present(image)) return;
  const root = await installedOnce(join(cacheDir(), `stand-in-${name}-1`), (dir) =>
    debianRoot(dir, packages),
  );
  await importRoot(root, image);
}

const kafka = async () => {
  await base('java', ['openjdk-21-jre-headless']);
  await build('kafka', images.kafka, { libs: join(await installKafka(report), 'libs') });
};

const mongoshVersion = '2.12.0';

const mongo = async () => {
  const found = storeChoice() === 'stand-in' ? { missing: '' } : await findMongod(report);
  if ('missing' in found) return ferretdb();
  await base('node', nodePackages);
  const mongosh = await installedOnce(join(cacheDir(), `mongosh-${mongoshVersion}`), async (prefix) => {
    const options = ['--prefix', prefix, '--no-audit', '--no-fund', '--omit=optional', '--ignore-scripts'];
    await mustRun('npm', ['install', ...options, `mongosh@${mongoshVersion}`]);
  });
  await build('mongo', images.mongo, {
    node: join('node_modules', 'node', 'bin'),
    mongosh,
    mongod: (await mustRun('sh', ['-c', 'command -v "$0"', found.program])).trim(),
  });
};

const ferretdb = async () => {
  await installPostgres(report);
  await installFerretdb(report);
  await importRoot(rootDir(), 'stand-in-documentdb');
  await build('ferretdb', images.mongo, { bin: binDir(), data: join(templateDir(), 'data') });
};

const nodePackages = ['ca-certificates', 'libstdc++6'];

const node = async () => {
  await base('node', nodePackages);
  await build('node', images.node, {
    node: join('node_modules', 'node', 'bin'),
    npm: await npmFolder(),
    'ca-certificates.crt': trusted,
  });
};

/** Both names lead to one image: docker-compose.yml names the programs. */
const network = async () => {
  await base('network', ['haproxy', 'wget', 'valkey-server', 'valkey-tools']);
  for (const image of [images.valkey, images.proxy])
    await mustRun('docker', ['tag', 'stand-in-network', image]);
};

/** The folder of this machine's npm, because the `node` package on the registry has none. */
async function npmFolder(): Promise<string> {
  const program = (await mustRun('sh', ['-c', 'readlink -f "$(command -v npm)"'])).trim();
  return join(program, '..', '..');
}

for (const [image, make] of [
  [images.kafka, kafka],
  [images.mongo, mongo],
  [images.node, node],
  [images.proxy, network],
] as const) {
  if (await present(image)) report(`${image}: exists already`);
  else await step(report, `${image}: building a stand-in`, make);
}
