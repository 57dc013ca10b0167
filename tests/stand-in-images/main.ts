import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { images } from '../../infra/dev-servers/docker/engine.ts';
import { cacheDir, installOnce } from '../../infra/dev-servers/native/cache.ts';
import { installDebianRoot } from '../../infra/dev-servers/native/debian-root.ts';
import { installKafka } from '../../infra/dev-servers/native/kafka.ts';
import { findMongod } from '../../infra/dev-servers/native/mongod.ts';
import { reportStep } from '../../infra/dev-servers/native/progress.ts';
import { mustRun, run } from '../../infra/dev-servers/native/run.ts';

/**
 * `node tests/stand-in-images/main.ts` pulls missing images, and builds the images that no registry offers, under the
 * names in docker-compose.yml. It needs a container engine, and to build also root on Debian.
 *
 * Kafka's image has the broker and the entry point class of the published image. MongoDB's image has the `mongod` of
 * the development servers, with an entry point that accepts the arguments and variables of the published image.
 */
const report = (line: string) => process.stderr.write(`${line}\n`);
const dockerfilesFolder = join('tests', 'stand-in-images');
const certificateAuthorities = '/etc/ssl/certs/ca-certificates.crt';

const present = async (image: string) => (await run('docker', ['image', 'inspect', image])).ok;

/** Imports a root file system as an image, without the device files, which the engine creates itself. */
const importRoot = (root: string, image: string) =>
  mustRun('bash', ['-o', 'pipefail', '-c', importScript, root, image]);
const importScript = `tar --exclude='./dev/*' -C "$0" -c . | docker import - "$1"`;

/** Builds a Dockerfile of this folder. `files` are the files and folders that the Dockerfile copies, by name. */
async function build(folder: string, image: string, files: Record<string, string>): Promise<void> {
  const context = join(cacheDir(), `stand-in-context-${folder}`);
  await rm(context, { recursive: true, force: true });
  await mkdir(context, { recursive: true });
  for (const [name, from] of Object.entries(files)) await mustRun('cp', ['-a', from, join(context, name)]);
  await cp(join(dockerfilesFolder, folder), context, { recursive: true });
  await mustRun('docker', ['build', '--tag', image, context], { env: { DOCKER_BUILDKIT: '0' } });
  await rm(context, { recursive: true });
}

/** Builds a base image from a root file system of Debian sid with `packages`. */
async function buildBase(name: string, packages: string[]): Promise<void> {
  const image = `stand-in-${name}`;
  if (await present(image)) return;
  const root = await installOnce(join(cacheDir(), `stand-in-${name}-1`), (dir) =>
    installDebianRoot(dir, packages),
  );
  await importRoot(root, image);
}

const kafka = async () => {
  await buildBase('java', ['openjdk-21-jre-headless']);
  await build('kafka', images.kafka, { libs: join(await installKafka(report), 'libs') });
};

const mongoshVersion = '2.12.0';

const mongo = async () => {
  const mongod = await findMongod(report);
  if ('obstacle' in mongod)
    throw new Error(`${images.mongo}: there is no mongod to build it from: ${mongod.obstacle}`);
  await buildBase('node', nodePackages);
  const mongosh = await installOnce(join(cacheDir(), `mongosh-${mongoshVersion}`), async (prefix) => {
    const options = ['--prefix', prefix, '--no-audit', '--no-fund', '--omit=optional', '--ignore-scripts'];
    await mustRun('npm', ['install', ...options, `mongosh@${mongoshVersion}`]);
  });
  await build('mongo', images.mongo, {
    node: join('node_modules', 'node', 'bin'),
    mongosh,
    mongod: (await mustRun('sh', ['-c', 'command -v "$0"', mongod.program])).trim(),
  });
};

const nodePackages = ['ca-certificates', 'libstdc++6'];

const node = async () => {
  await buildBase('node', nodePackages);
  await build('node', images.node, {
    node: join('node_modules', 'node', 'bin'),
    npm: await npmFolder(),
    'ca-certificates.crt': certificateAuthorities,
  });
};

/** Gives one image both names, because docker-compose.yml names the program of each container. */
const network = async () => {
  await buildBase('network', ['haproxy', 'wget', 'valkey-server', 'valkey-tools']);
  for (const image of [images.valkey, images.proxy])
    await mustRun('docker', ['tag', 'stand-in-network', image]);
};

/** The folder of this machine's npm, because the `node` package on the registry lacks npm. */
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
  if (await present(image)) {
    report(`${image}: exists already`);
    continue;
  }
  const pulled = await run('docker', ['pull', image]);
  if (pulled.ok) {
    report(`${image}: pulled`);
    continue;
  }
  report(`${image} cannot be pulled: ${pulled.output.trim().split('\n').at(-1)}`);
  await reportStep(report, `${image}: building a stand-in`, make);
}
