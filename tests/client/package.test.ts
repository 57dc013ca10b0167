import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { mustRun } from '../../infra/stack/native/run.ts';
import * as given from '../api/given.ts';
import { startApi, startStore, tokens, type TestApi, type TestStore } from '../api/harness.ts';

const source = 'clients/typescript';
const bin = (name: string) => resolve('node_modules/.bin', name);

/** A project of its own that has the package installed as it is published. */
const consumer = `
import { ApiError, createClient, exportChanges, type TicketItem } from 'support-read-models-client';

const front: typeof fetch = (url, init) =>
  fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), 'X-Forwarded-Proto': 'https' } });
const client = createClient({ baseUrl: process.env.BASE_URL ?? '', apiKey: process.env.API_KEY ?? '', fetch: front });
const tickets: TicketItem[] = [];
for await (const ticket of client.tickets.all({ limit: 1 })) tickets.push(ticket);
const batches: number[] = [];
for await (const batch of exportChanges({ client, threads: 'messages' })) batches.push(batch.tickets.length);
const missing = await client.tickets.retrieve('ti_none').catch((error: unknown) => error);
const code = missing instanceof ApiError ? missing.code : null;
console.log(JSON.stringify({ ids: tickets.map(({ id }) => id), batches, code }));
`;
const settings = {
  compilerOptions: { strict: true, module: 'nodenext', target: 'es2022', lib: ['es2022'], types: ['node'] },
  files: ['consumer.mts'],
};

let store: TestStore;
let api: TestApi;
let folder: string;

beforeAll(async () => {
  store = await startStore();
  api = await startApi(store);
  await given.store(store.database, 'ticket', [given.ticket({ id: 'ti_1' }), given.ticket({ id: 'ti_2' })]);
  folder = mkdtempSync(join(tmpdir(), 'client-tests-'));
}, 60_000);

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await api.close();
  await store.close();
});

test('the package as published compiles, and runs, in a project that has it installed', async () => {
  const installed = join(folder, 'node_modules/support-read-models-client');
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
  await mustRun(bin('tsc'), ['--project', source, '--outDir', join(installed, 'dist')]);
  cpSync(join(source, 'package.json'), join(installed, 'package.json'));
  for (const name of ['@types/node', 'undici-types']) {
    symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  }
  writeFileSync(join(folder, 'consumer.mts'), consumer);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  await mustRun(bin('tsc'), ['--project', folder]);
  const env = { BASE_URL: api.url, API_KEY: tokens.a };
  const output = await mustRun(process.execPath, [join(folder, 'consumer.mjs')], { env });
  expect(JSON.parse(output)).toEqual({ ids: ['ti_2', 'ti_1'], batches: [2, 0], code: 'ticket_not_found' });
}, 120_000);
