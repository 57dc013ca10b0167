import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cacheDir, installOnce } from '../../infra/dev-servers/native/cache.ts';
import { fetchJars } from '../../infra/dev-servers/native/kafka.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { installPythonPackages, type PythonPackages } from '../support/python-packages.ts';

const generatorVersion = '7.26.0';
const pythonGeneratorVersion = '0.29.1';

/** Installs the packages of the generators and of the Python clients. One package contains OpenAPI Generator's jar. */
export const installGenerators = (report: (line: string) => void): Promise<PythonPackages> =>
  installPythonPackages(report, `client-generators-${generatorVersion}-${pythonGeneratorVersion}`, [
    `openapi-generator-cli==${generatorVersion}`,
    `openapi-python-client==${pythonGeneratorVersion}`,
    'pydantic==2.14.4',
    'python-dateutil==4.0.0',
    'urllib3==2.8.0',
  ]);

const document = resolve('openapi.json');

/** Generates a client in a folder for each name, with the default settings of OpenAPI Generator. */
export async function generateClients(packages: PythonPackages, folder: string, names: string[]) {
  const configurations = names.map((name) => {
    const file = join(folder, `${name}.json`);
    const outputDir = join(folder, name);
    const additionalProperties = { packageName: 'support' };
    const settings = { inputSpec: document, generatorName: name, outputDir, additionalProperties };
    writeFileSync(file, JSON.stringify(settings));
    return file;
  });
  const jar = join(packages.folder, 'openapi_generator_cli', 'openapi-generator.jar');
  await mustRun('java', ['-jar', jar, 'batch', '--fail-fast', ...configurations]);
}

/** Generates the package `support_client` in a folder with openapi-python-client. */
export async function generatePythonClient({ folder: packages, env }: PythonPackages, folder: string) {
  mkdirSync(folder, { recursive: true });
  const options = ['--path', document, '--output-path', join(folder, 'support_client'), '--meta', 'none'];
  const path = `${join(packages, 'bin')}:${process.env.PATH}`;
  await mustRun('python3', ['-m', 'openapi_python_client', 'generate', '--fail-on-warning', ...options], {
    env: { ...env, PATH: path },
  });
}

/** A generated client in a folder, and the variables of the program that uses it. */
type Client = { folder: string; packages: PythonPackages; env: { BASE_URL: string; API_KEY: string } };

const source = (name: string) => join(__dirname, name);

const runPython =
  (program: string) =>
  ({ folder, packages, env }: Client): Promise<string> => {
    const { PYTHONPATH, ...flags } = packages.env;
    const path = `${folder}:${PYTHONPATH}`;
    return mustRun('python3', [source(program)], { env: { ...flags, ...env, PYTHONPATH: path } });
  };

type GeneratedClient = {
  /** The tools and files of the machine that the client needs. */
  tools: string[];
  /** Compiles the client with the program that uses it, runs it, and returns its output. */
  run: (client: Client) => Promise<string>;
};

export const clients: Record<string, GeneratedClient> = {
  python: { tools: ['java'], run: runPython('program.py') },
  'openapi-python-client': { tools: [], run: runPython('program_attrs.py') },
  go: {
    tools: ['java', 'go'],
    run: async ({ folder, env }) => {
      mkdirSync(join(folder, 'source'));
      copyFileSync(source('program.go'), join(folder, 'source/main.go'));
      const program = join(folder, 'program');
      // The generated tests have requirements of their own. `go run` would also print the downloads of modules.
      await mustRun('go', ['-C', folder, 'build', '-o', program, './source'], {
        env: { GOFLAGS: '-mod=mod' },
      });
      return mustRun(program, [], { env });
    },
  },
  java: {
    tools: ['java', 'javac', 'mvn'],
    run: async ({ folder, env }) => {
      const pom = readFileSync(join(folder, 'pom.xml'), 'utf8');
      const cached = join(cacheDir(), `java-client-libs-${generatorVersion}`);
      const jars = await installOnce(cached, async (partial) => {
        await fetchJars(pom, partial, 'compile');
      });
      const classes = join(folder, 'classes');
      const path = `${classes}:${join(jars, 'libs/*')}`;
      const files = (await mustRun('find', [join(folder, 'src/main'), '-name', '*.java'])).trim();
      writeFileSync(join(folder, 'sources'), `${files}\n${source('Program.java')}\n`);
      await mustRun('javac', ['-nowarn', '-d', classes, '-cp', path, `@${join(folder, 'sources')}`]);
      return mustRun('java', ['-cp', path, 'Program'], { env });
    },
  },
  php: {
    tools: ['java', 'php', '/usr/share/php/GuzzleHttp/autoload.php'],
    run: ({ folder, env }) => mustRun('php', [source('program.php')], { env: { ...env, CLIENT: folder } }),
  },
  'typescript-fetch': {
    tools: ['java'],
    run: async ({ folder, env }) => {
      writeFileSync(join(folder, 'program.ts'), typescript);
      mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
      for (const types of ['@types/node', 'undici-types'])
        symlinkSync(resolve('node_modules', types), join(folder, 'node_modules', types));
      const compilerOptions = {
        strict: true,
        target: 'es2022',
        lib: ['es2022', 'dom'],
        types: ['node'],
        module: 'commonjs',
        moduleResolution: 'bundler',
        outDir: 'compiled',
      };
      const project = { compilerOptions, files: ['program.ts', 'index.ts'] };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
      await mustRun(resolve('node_modules/.bin/tsc'), ['--project', folder]);
      return mustRun(process.execPath, [join(folder, 'compiled/program.js')], { env });
    },
  },
};

/**
 * A program that uses the client of OpenAPI Generator for TypeScript. It is a text because the compiler would check a
 * file as a part of this project, without the generated client.
 */
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
