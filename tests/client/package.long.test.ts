import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import * as build from '../api/builders.ts';
import { tokens, useApi } from '../api/test-api.ts';

const tsc = resolve('node_modules/.bin/tsc');

/** The code of a project that uses the package, for every module system. */
const main = `
const front: typeof fetch = (url, init) =>
  fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), 'X-Forwarded-Proto': 'https' } });
async function main(): Promise<void> {
  const client = createClient({ baseUrl: process.env.BASE_URL ?? '', apiKey: process.env.API_KEY ?? '', fetch: front });
  const tickets: TicketItem[] = [];
  for await (const ticket of client.tickets.all({ limit: 1, updatedAt: { gte: '2026-01-01' } })) tickets.push(ticket);
  const batches: number[] = [];
  for await (const batch of exportChanges({ client, threads: 'messages' })) batches.push(batch.tickets.length);
  const missing = await client.tickets.retrieve('ti_none').catch((error: unknown) => error);
  const code = missing instanceof ApiError ? missing.code : null;
  console.log(JSON.stringify({ ids: tickets.map(({ id }) => id), batches, code }));
}
void main();
`;
const names = `{ ApiError, createClient, exportChanges, type TicketItem } from 'support-read-models-client'`;

type Project = { name: string; file: string; output: string; compilerOptions: Record<string, unknown> };
const projects: Project[] = [
  {
    name: 'ES modules',
    file: 'consumer.mts',
    output: 'consumer.mjs',
    compilerOptions: { module: 'nodenext' },
  },
  { name: 'CommonJS', file: 'consumer.cts', output: 'consumer.cjs', compilerOptions: { module: 'nodenext' } },
  {
    name: 'CommonJS before packages had exports',
    file: 'consumer.ts',
    output: 'consumer.js',
    compilerOptions: { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' },
  },
  {
    name: 'a bundler',
    file: 'consumer.mts',
    output: 'consumer.mjs',
    compilerOptions: { module: 'esnext', moduleResolution: 'bundler' },
  },
];

const api = useApi({ ticket: ['ti_1', 'ti_2'].map((id) => build.ticket({ id })) });
let folder: string;
let tarball: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'client-tests-'));
  await mustRun('npm', ['pack', '--pack-destination', folder], { cwd: 'clients/typescript' });
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '');
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Creates a separate project with only the packed package installed. */
async function install(name: string): Promise<string> {
  const project = join(folder, name.replaceAll(' ', '-'));
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
    expect.arrayContaining([
      'package/README.md',
      'package/package.json',
      'package/dist/index.js',
      'package/dist/index.d.ts',
      'package/dist/cjs/index.js',
      'package/dist/cjs/index.d.ts',
      'package/dist/cjs/package.json',
    ]),
  );
  expect(listed.filter((path) => !/^package\/(README\.md|package\.json|dist\/)/.test(path))).toEqual([]);
});

test.each(projects)(
  'a project of $name passes strict type checks with the package, and runs',
  async ({ name, file, output, compilerOptions }) => {
    const project = await install(name);
    writeFileSync(join(project, file), `import ${names};${main}`);
    const common = { strict: true, target: 'es2022', lib: ['es2022'], types: ['node'], skipLibCheck: false };
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...common, ...compilerOptions }, files: [file] }),
    );
    await mustRun(tsc, ['--project', project]);
    const env = { BASE_URL: api.url, API_KEY: tokens.a };
    const printed = await mustRun(process.execPath, [join(project, output)], { env });
    expect(JSON.parse(printed)).toEqual({ ids: ['ti_2', 'ti_1'], batches: [2, 0], code: 'ticket_not_found' });
  },
);

test('a program that uses both import and require has one class of each error', async () => {
  const project = await install('both');
  const program = `
import { createRequire } from 'node:module';
import * as imported from 'support-read-models-client';
const required = createRequire(import.meta.url)('support-read-models-client');
const names = Object.keys(required);
console.log(names.length, names.every((name) => imported[name] === required[name]));
`;
  writeFileSync(join(project, 'both.mjs'), program);
  expect(await mustRun(process.execPath, [join(project, 'both.mjs')])).toBe('6 true\n');
});
