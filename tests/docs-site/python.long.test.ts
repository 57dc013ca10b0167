import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../infra/dev-servers/native/run.ts';
import type { OpenApiDocument } from '../../services/api/openapi/spec.ts';
import { channelExample } from '../../services/api/resources/channels/schema.ts';
import { conversationExample } from '../../services/api/resources/conversations/schema.ts';
import { ticketExample } from '../../services/api/resources/tickets/schema.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { type ApiProcess, useApiProcesses } from '../api/api-processes.ts';
import * as build from '../api/builders.ts';
import { tokens } from '../api/test-api.ts';
import { installPythonPackages } from '../support/python-packages.ts';
import { refusalCount, type RefusingProxy, startRefusingProxy } from '../support/refusing-proxy.ts';

// The tests run the Python of the documentation: the guide to dlt, and the samples of the reference. The samples use
// `requests`, which dlt installs.
const tickets = Array.from({ length: 250 }, (_, index) => build.ticket({ id: `ti_${index}` }));
const apis = useApiProcesses({
  ticket: [...tickets, build.ticket({ id: ticketExample.id, updatedAt: '2026-03-01T00:00:00.000Z' })],
  conversation: [build.conversation({ id: conversationExample.id })],
  message: [build.message({ id: 'msg_1', conversationId: conversationExample.id })],
  channel: [build.channel({ id: channelExample.id, type: 'email' })],
  qa: [build.qa({ id: 'qa_1' })],
});
let api: ApiProcess;
let proxy: RefusingProxy | null = null;
let environment: Record<string, string> | null = null;

beforeAll(async () => {
  const report = (line: string) => process.stdout.write(`${line}\n`);
  environment = await installPythonPackages(report, 'dlt-1.31.0', ['dlt[duckdb]==1.31.0']).then(
    ({ env }) => env,
    (error: unknown) => {
      report(`The Python of the documentation is not tested: ${errorMessage(error)}`);
      return null;
    },
  );
  api = await apis.startServing(apis.tls);
});

afterAll(() => proxy?.close());

const addressOf = ({ port }: ApiProcess) => `https://localhost:${port}`;

/** Runs a Python program with the variables that a reader sets. */
async function python(program: string, address = addressOf(api)): Promise<string> {
  writeFileSync(join(apis.folder, 'program.py'), program);
  const { ok, output } = await run('sh', ['-c', 'python3 program.py > out'], {
    cwd: apis.folder,
    env: {
      ...environment,
      API: address,
      API_KEY: tokens.a,
      REQUESTS_CA_BUNDLE: apis.tls.API_TLS_CERT,
      // Otherwise dlt keeps its state in the home folder, or for root in /var/dlt, and a later run of the test would
      // continue from that state.
      DLT_DATA_DIR: join(apis.folder, 'dlt'),
      RUNTIME__DLTHUB_TELEMETRY: 'false',
    },
  });
  if (!ok) throw new Error(output);
  return readFileSync(join(apis.folder, 'out'), 'utf8');
}

test('each Python sample of the reference prints the resource or each item of the list', async () => {
  if (!environment) return;
  const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8')) as OpenApiDocument;
  const samples = Object.values(paths).flatMap(({ get }) => {
    const sample = get['x-codeSamples']?.find(({ lang }) => lang === 'Python');
    return sample ? [{ id: get.operationId, source: sample.source }] : [];
  });
  expect(samples).toHaveLength(7);
  for (const { id, source } of samples) {
    const program = source.replaceAll('https://api.example.com', addressOf(api));
    const lines = (await python(program)).trim().split('\n');
    expect({ id, lines: lines.length }).toEqual({ id, lines: id === 'listTickets' ? 251 : 1 });
    expect(lines[0]).toContain("'object': '");
  }
});

/** A program that prints the number of rows and of different ids in each table, and two titles. */
const readTables = `
import duckdb, json
database = duckdb.connect("support.duckdb")
rows = "SELECT count(*), count(DISTINCT id) FROM support_data."
tables = {name: database.execute(rows + name).fetchone() for name in ["tickets", "channels", "qas"]}
title = "SELECT title FROM support_data.tickets WHERE id IN ('ti_7', 'ti_8') ORDER BY id"
print(json.dumps({**tables, "titles": [row[0] for row in database.execute(title).fetchall()]}))`;

test('the second run of the program in the dlt guide loads only changes', async () => {
  if (!environment) return;
  const guide = readFileSync('docs/guides/dlt.md', 'utf8');
  const [, program = ''] = /```python [^\n]+\n([^]*?)```/.exec(guide) ?? [];
  // With this limit, the program meets 429 as well as the refusals of the proxy.
  const lowLimit = { RATE_LIMIT_REQUESTS: '4' };
  const limited = await apis.startServing({ ...apis.tls, ...lowLimit });
  const loadedTables = async () => JSON.parse(await python(readTables)) as unknown;
  proxy = await startRefusingProxy(addressOf(limited));
  await python(program, proxy.url);
  expect(proxy.refusals()).toBe(refusalCount);
  expect(limited.log.some(({ status }) => status === 429)).toBe(true);
  // Each table has [rows, different ids].
  const otherTables = { channels: [1, 1], qas: [1, 1] };
  const title = tickets[8]?.state.title;
  expect(await loadedTables()).toEqual({ tickets: [251, 251], ...otherTables, titles: [title, title] });

  const { database } = apis.store;
  const storedTickets = database.collection<{ _id: string }>('tickets');
  // The test deletes ti_7 and stores it again with a new title and a new `updatedAt`, which dlt reads.
  await storedTickets.deleteOne({ _id: 'ti_7' });
  // Without a new `updatedAt`, dlt does not read this change.
  await storedTickets.updateOne({ _id: 'ti_8' }, { $set: { 'state.title': 'not read' } });
  const updatedAt = '2026-06-01T00:00:00.000Z';
  const changed = ['ti_7', 'ti_new'].map((id) => build.ticket({ id, title: 'changed', updatedAt }));
  await build.store(database, 'ticket', changed);
  await python(program, proxy.url);
  expect(await loadedTables()).toEqual({ tickets: [252, 252], ...otherTables, titles: ['changed', title] });
});
