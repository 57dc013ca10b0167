import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { mustRun, run } from '../../infra/dev-servers/native/run.ts';
import * as build from '../api/builders.ts';
import { tokens, useApi } from '../api/test-api.ts';

const tsc = resolve('node_modules/.bin/tsc');

/** A program that uses the package, as an ES module or as CommonJS. */
const program = `
import { ApiError, createClient, exportChanges, type TicketItem } from '@support-read-models/client';
const front: typeof fetch = (url, init) =>
  fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), 'X-Forwarded-Proto': 'https' } });
async function main(): Promise<void> {
  const client = createClient({ baseUrl: process.env.BASE_URL ?? '', apiKey: process.env.API_KEY ?? '', fetch: front });
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
    expect.arrayContaining(['README.md', 'package.json', 'dist/index.js'].map((path) => `package/${path}`)),
  );
  expect(listed.filter((path) => !/^package\/(README\.md|package\.json|dist\/)/.test(path))).toEqual([]);
});

/** Compiles a file strictly. */
async function compile(project: string, file: string, text: string) {
  writeFileSync(join(project, file), text);
  const compilerOptions = { module: 'nodenext', strict: true, types: ['node'], skipLibCheck: false };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
  return run(tsc, ['--project', project]);
}

test.each(['mts', 'cts'])(
  'a program in a .%s file passes strict type checks, and runs',
  async (extension) => {
    const project = await install(extension);
    expect(await compile(project, `program.${extension}`, program)).toMatchObject({ ok: true });
    const env = { BASE_URL: api.url, API_KEY: tokens.a };
    const output = join(project, `program.${extension.replace('t', 'j')}`);
    const printed = await mustRun(process.execPath, [output], { env });
    expect(JSON.parse(printed)).toEqual({ ids: ['ti_2', 'ti_1'], batches: 2, code: 'ticket_not_found' });
  },
);

test('messages of the compiler show the names of types', async () => {
  const wrong = `import type { Client } from '@support-read-models/client';
export const title = async (client: Client): Promise<number> => (await client.tickets.retrieve('ti_1')).data;`;
  const { output } = await compile(await install('names'), 'wrong.mts', wrong);
  expect(output).toContain("Type 'Ticket' is not assignable to type 'number'");
});
