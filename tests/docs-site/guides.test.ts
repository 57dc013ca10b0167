import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { aptInstall } from '../../infra/dev-servers/native/prerequisites.ts';
import { run } from '../../infra/dev-servers/native/run.ts';
import { listen } from '../../shared/runtime/listen.ts';
import { dataAsOf, store as put, ticket } from '../api/builders.ts';
import { tokens, useApi } from '../api/test-api.ts';
import { containing } from '../support/matchers.ts';
import { refusalCount, startRefusingProxy } from '../support/refusing-proxy.ts';
import { useFolder } from '../support/use-opened.ts';

const api = useApi(
  { ticket: Array.from({ length: 250 }, (_, index) => ticket({ id: `ti_${index}` })) },
  { hasTls: true },
);
const folder = useFolder({ each: true });
beforeAll(async () => {
  const installed = await Promise.all(['curl', 'jq'].map((tool) => run(tool, ['--version'])));
  if (!installed.every(({ ok }) => ok)) await aptInstall(['curl', 'jq', 'ca-certificates']);
  await dataAsOf(api.store.control, new Date('2026-02-01T00:00:00Z'));
});
beforeEach(() => writeFileSync(join(folder.path, '.curlrc'), 'insecure\n'));

/** The scripts of the guides by their labels. */
const scripts = new Map<string, string>();
for (const guide of ['paging', 'exports']) {
  const text = readFileSync(`docs/guides/${guide}.md`, 'utf8');
  for (const [, label = '', code = ''] of text.matchAll(/```sh ([^\n]+)\n([^]*?)```/g))
    scripts.set(label, code);
}

/** The scripts that print or write tickets, and the file that then contains them. */
const ticketScripts = [
  { label: 'Reading a list', file: 'out' },
  { label: 'Exporting changes', file: 'changes.jsonl' },
];

type Breakage = { without?: string; apiKey?: string; output?: string; url?: string };

/** Makes a folder of links to the tools that the scripts use, without one of the tools. */
function toolFolder(without: string | undefined): string {
  const path = join(folder.path, `tools-without-${without ?? 'none'}`);
  if (existsSync(path)) return path;
  mkdirSync(path);
  const tools = ['bash', 'cat', 'curl', 'jq', 'tr', 'awk', 'mv'].filter((tool) => tool !== without);
  for (const tool of tools) symlinkSync(`/usr/bin/${tool}`, join(path, tool));
  return path;
}

/** Runs a script of a guide with the variables that a reader sets. */
function runScript(
  label: string,
  { without, apiKey = tokens.a, output = 'out', url = `https://127.0.0.1:${api.port}` }: Breakage = {},
) {
  writeFileSync(join(folder.path, 'script'), scripts.get(label) ?? '');
  const env = { API: url, API_KEY: apiKey, CURL_HOME: folder.path, PATH: toolFolder(without) };
  return run('/bin/bash', ['-c', `bash script > ${output}`], { cwd: folder.path, env });
}

const linesOf = (name: string) => readFileSync(join(folder.path, name), 'utf8').split('\n').filter(Boolean);
const idsOf = (lines: string[]) => lines.map((line) => (JSON.parse(line) as { id: string }).id);

test('this file tests every script of the guides', () => {
  expect([...scripts.keys()]).toEqual([
    'Setting up',
    'Reading a list',
    'Exporting changes',
    'The latest state of each ticket',
  ]);
  expect(scripts.get('Setting up')).toMatch(/^export API='.*'\nexport API_KEY='.*' #.*\n$/);
});

test('the script of the paging guide prints every ticket once', async () => {
  expect(await runScript('Reading a list')).toMatchObject({ ok: true, output: '' });
  const ids = idsOf(linesOf('out'));
  expect(ids).toHaveLength(250);
  expect(new Set(ids).size).toBe(250);
});

test.each(ticketScripts)(
  'the script "$label" continues after each form of Retry-After that a server before the API may send',
  async ({ label, file }) => {
    const proxy = await startRefusingProxy(`https://127.0.0.1:${api.port}`);
    try {
      expect(await runScript(label, { url: proxy.url })).toMatchObject({ ok: true });
    } finally {
      proxy.close();
    }
    expect(proxy.refusals()).toBe(refusalCount);
    expect(new Set(idsOf(linesOf(file))).size).toBe(250);
  },
);

test('a second run of the script of the export guide writes only changes', async () => {
  expect(await runScript('Exporting changes')).toMatchObject({ ok: true, output: '' });
  const since = () => linesOf('since').join();
  expect(new Set(idsOf(linesOf('changes.jsonl'))).size).toBe(250);
  expect(since()).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const later = new Date(Date.parse(since()) + 60_000).toISOString();
  await put(api.store.database, 'ticket', [ticket({ id: 'ti_new', createdAt: later, updatedAt: later })]);
  expect(await runScript('Exporting changes')).toMatchObject({ ok: true, output: '' });
  expect(idsOf(linesOf('changes.jsonl').slice(250))).toEqual(['ti_new']);
  expect(await runScript('The latest state of each ticket')).toMatchObject({ ok: true, output: '' });
  expect(linesOf('out').length).toBe(251);
});

test.each(ticketScripts)(
  'the script "$label" writes nothing of a response after which curl repeats the request',
  async ({ label, file }) => {
    const page = { data: [{ id: 'ti_1' }], nextCursor: null };
    const bodies = [{ error: { code: 'too_many_requests' } }, page];
    const server = createServer((_, response) => {
      const body = bodies.shift();
      const headers = { 'Data-As-Of': '2026-01-01T00:00:00.000Z', 'Retry-After': '1' };
      response.writeHead(body === page ? 200 : 429, headers).end(JSON.stringify(body));
    });
    const { port } = await listen(server, '127.0.0.1', 0);
    expect(await runScript(label, { url: `http://127.0.0.1:${port}` })).toMatchObject({ ok: true });
    server.close();
    expect(idsOf(linesOf(file))).toEqual(['ti_1']);
  },
);

/** Breakages, and the error of the API that each script must print. Empty if the API sends no error. */
test.each<{ name: string; breakage: Breakage; error: string }>([
  { name: 'jq is missing', breakage: { without: 'jq' }, error: '' },
  { name: 'curl is missing', breakage: { without: 'curl' }, error: '' },
  {
    name: 'the key is wrong',
    breakage: { apiKey: 'svc_live_unknown0000000' },
    error: '"code": "invalid_api_key"',
  },
  { name: 'the disk is full', breakage: { output: '/dev/full' }, error: '' },
])('each script fails without a change of `since` if $name', async ({ breakage, error }) => {
  if (breakage.output) symlinkSync('/dev/full', join(folder.path, 'changes.jsonl'));
  writeFileSync(join(folder.path, 'since'), '2026-01-01T00:00:00Z\n');
  for (const { label } of ticketScripts) {
    const { ok, output } = await runScript(label, breakage);
    expect({ label, ok, output }).toEqual({ label, ok: false, output: containing(error) });
  }
  expect(linesOf('since')).toEqual(['2026-01-01T00:00:00Z']);
});
