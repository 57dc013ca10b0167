import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cacheDir, installedOnce } from '../../infra/dev-servers/native/cache.ts';
import { fetchJars } from '../../infra/dev-servers/native/kafka.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import type { PythonPackages } from '../support/python-packages.ts';
import { generatorVersion } from './generate.ts';

/** A client in a folder, with the address and the key that its program takes. */
type Client = { folder: string; packages: PythonPackages; env: { BASE_URL: string; API_KEY: string } };

const source = (name: string) => join(__dirname, name);

/** Each compiles a generated client with the program that uses it, runs it, and returns its output. */
export const programs: Record<string, (client: Client) => Promise<string>> = {
  python: ({ folder, packages, env }) => runPython('program.py', folder, packages, env),
  'openapi-python-client': ({ folder, packages, env }) =>
    runPython('program_attrs.py', folder, packages, env),
  go: async ({ folder, env }) => {
    mkdirSync(join(folder, 'program'));
    copyFileSync(source('program.go'), join(folder, 'program/main.go'));
    // The generated tests have requirements of their own.
    return mustRun('go', ['-C', folder, 'run', './program'], { env: { ...env, GOFLAGS: '-mod=mod' } });
  },
  java: async ({ folder, env }) => {
    const pom = readFileSync(join(folder, 'pom.xml'), 'utf8');
    const cached = join(cacheDir(), `java-client-libs-${generatorVersion}`);
    const jars = await installedOnce(
      cached,
      async (partial) => void (await fetchJars(pom, partial, 'compile')),
    );
    const classes = join(folder, 'classes');
    const path = `${classes}:${join(jars, 'libs/*')}`;
    const files = (await mustRun('find', [join(folder, 'src/main'), '-name', '*.java'])).trim();
    writeFileSync(join(folder, 'sources'), `${files}\n${source('Program.java')}\n`);
    await mustRun('javac', ['-nowarn', '-d', classes, '-cp', path, `@${join(folder, 'sources')}`]);
    return mustRun('java', ['-cp', path, 'Program'], { env });
  },
  'typescript-fetch': async ({ folder, env }) => {
    writeFileSync(join(folder, 'program.ts'), typescript);
    mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
    for (const types of ['@types/node', 'undici-types'])
      symlinkSync(resolve('node_modules', types), join(folder, 'node_modules', types));
    const compilerOptions = {
      ...{ strict: true, target: 'es2022', lib: ['es2022', 'dom'], types: ['node'] },
      ...{ module: 'commonjs', moduleResolution: 'bundler', outDir: 'compiled' },
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['program.ts', 'index.ts'] }),
    );
    await mustRun(resolve('node_modules/.bin/tsc'), ['--project', folder]);
    return mustRun(process.execPath, [join(folder, 'compiled/program.js')], { env });
  },
};

const runPython = (
  program: string,
  folder: string,
  { env: { PYTHONPATH, ...flags } }: PythonPackages,
  env: object,
): Promise<string> =>
  mustRun('python3', [source(program)], { env: { ...flags, ...env, PYTHONPATH: `${folder}:${PYTHONPATH}` } });

/** Uses the client that OpenAPI Generator makes for TypeScript. A file of its own would be a program of this project. */
const typescript = `
import { ChannelsApi, Configuration, ResponseError, TicketsApi } from './index';

async function main(): Promise<void> {
  const configuration = new Configuration({
    basePath: process.env.BASE_URL ?? '',
    accessToken: process.env.API_KEY ?? '',
  });
  const tickets = new TicketsApi(configuration);
  const channels = new ChannelsApi(configuration);
  const query = { limit: 1, sort: 'createdAt', createdAtGte: new Date('2026-01-02').toISOString() } as const;
  const first = await tickets.listTickets(query);
  const second = await tickets.listTickets({ ...query, startingAfter: first.nextCursor ?? '' });
  const types: string[] = [];
  for (const id of ['chan_email', 'chan_chatbot', 'chan_form'])
    types.push((await channels.retrieveChannel({ id })).type);
  const failure: unknown = await tickets.retrieveTicket({ id: 'ti_none' }).catch((error: unknown) => error);
  if (!(failure instanceof ResponseError)) throw failure;
  const { error } = (await failure.response.json()) as { error: { code: string } };
  const ids = [...first.data, ...second.data].map(({ id }) => id);
  console.log(JSON.stringify({ ids, types, missing: [failure.response.status, error.code] }));
}
void main();
`;
