import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aptInstall } from '../../infra/dev-servers/native/prerequisites.ts';
import { mustRun, run } from '../../infra/dev-servers/native/run.ts';
import { tokens, useApi } from '../api/test-api.ts';
import { dataAsOf, store as put, ticket } from '../api/builders.ts';

const api = useApi(
  { ticket: Array.from({ length: 250 }, (_, index) => ticket({ id: `ti_${index}` })) },
  { hasTls: true },
);
let folder: string;
beforeAll(async () => {
  const present = await Promise.all(['curl', 'jq'].map((tool) => run(tool, ['--version'])));
  if (!present.every(({ ok }) => ok)) await aptInstall(['curl', 'jq', 'ca-certificates']);
  await dataAsOf(api.store.control, new Date('2026-02-01T00:00:00Z'));
  folder = mkdtempSync(join(tmpdir(), 'guides-'));
  writeFileSync(join(folder, '.curlrc'), 'insecure\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the code block with this label, as a reader would who has set the variables. */
async function follow(page: string, label: string): Promise<string[]> {
  const { text } = await pageOf(page);
  const [, escaped = ''] = new RegExp(`aria-label="${label}"><code>([^]*?)</code>`).exec(text) ?? [];
  const code = escaped.replace(/&#(\d+);/g, (_, number: string) => String.fromCharCode(Number(number)));
  const env = { API: `https://127.0.0.1:${api.port}`, API_KEY: tokens.a, CURL_HOME: folder };
  const output = await mustRun('bash', ['-c', `( ${code}\n) > out`], { cwd: folder, env });
  expect(output).toBe('');
  return readFileSync(join(folder, 'out'), 'utf8').split('\n').filter(Boolean);
}

async function pageOf(path: string): Promise<{ text: string }> {
  const text = await mustRun(
    'curl',
    ['-sS', '--output', join(folder, 'page'), `https://127.0.0.1:${api.port}${path}`],
    { env: { CURL_HOME: folder } },
  );
  expect(text).toBe('');
  return { text: readFileSync(join(folder, 'page'), 'utf8') };
}

const ids = (lines: string[]) => lines.map((line) => (JSON.parse(line) as { id: string }).id);

test('the script of the paging guide prints every ticket once', async () => {
  const found = ids(await follow('/docs/guides/paging', 'Walking a list'));
  expect([found.length, new Set(found).size]).toEqual([250, 250]);
});

test('the script of the export guide writes everything first, and then only changes', async () => {
  await follow('/docs/guides/exports', 'Exporting changes');
  const changes = () => readFileSync(join(folder, 'changes.jsonl'), 'utf8').split('\n').filter(Boolean);
  const since = () => readFileSync(join(folder, 'since'), 'utf8').trim();
  expect(new Set(ids(changes())).size).toBe(250);
  expect(since()).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const later = new Date(Date.parse(since()) + 60_000).toISOString();
  await put(api.store.database, 'ticket', [ticket({ id: 'ti_new', createdAt: later, updatedAt: later })]);
  await follow('/docs/guides/exports', 'Exporting changes');
  expect(ids(changes().slice(250))).toEqual(['ti_new']);
  const latest = await follow('/docs/guides/exports', 'The latest state of each ticket');
  expect(latest.length).toBe(251);
});
