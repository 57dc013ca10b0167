import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptInstall } from '../../infra/dev-servers/native/prerequisites.ts';
import { run } from '../../infra/dev-servers/native/run.ts';
import type { OpenApiDocument } from '../../services/api/openapi/spec.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { type ApiProcess, useApiProcesses } from '../api/api-processes.ts';
import * as build from '../api/builders.ts';
import { tokens } from '../api/test-api.ts';
import { installPythonPackages, type PythonPackages } from '../support/python-packages.ts';
import { refusalCount, type RefusingProxy, startRefusingProxy } from '../support/refusing-proxy.ts';
import { useFolder } from '../support/use-opened.ts';

type Row = { id: string; updatedAt: string } & Record<string, unknown>;
type Message = Record<string, unknown>;

/** A guide whose file and script a reader copies. */
type Connector = {
  guide: 'airbyte' | 'singer';
  /** The folder of its packages, and the package to install; tests/docs-site/python pins the packages that it needs. */
  folder: string;
  package: string;
  file: string;
  /** The stream and the row of a message; null for other messages. */
  rowOf: (message: Message) => { stream: string; row: Row } | null;
  /** The fields that the catalog declares, by stream. */
  fieldsOf: (catalog: string) => Record<string, string[]>;
};

type Declared = { name: string; fields: { properties: object } };
const namesOf = (streams: Declared[]) =>
  Object.fromEntries(streams.map(({ name, fields }) => [name, Object.keys(fields.properties).sort()]));

const connectors: Connector[] = [
  {
    guide: 'airbyte',
    folder: 'airbyte-cdk-7.39.1',
    package: 'airbyte-cdk',
    file: 'support.yaml',
    rowOf: ({ type, record }) => {
      if (type !== 'RECORD') return null;
      const { stream, data } = record as { stream: string; data: Row };
      return { stream, row: data };
    },
    fieldsOf: (catalog) => {
      const { streams } = JSON.parse(catalog) as {
        streams: { stream: { name: string; json_schema: { properties: object } } }[];
      };
      return namesOf(streams.map(({ stream }) => ({ name: stream.name, fields: stream.json_schema })));
    },
  },
  {
    guide: 'singer',
    folder: 'singer-sdk-0.54.9',
    package: 'singer-sdk',
    file: 'tap_support.py',
    rowOf: ({ type, stream, record }) =>
      type === 'RECORD' ? { stream: stream as string, row: record as Row } : null,
    fieldsOf: (catalog) => {
      const { streams } = JSON.parse(catalog) as {
        streams: { stream: string; schema: { properties: object } }[];
      };
      return namesOf(streams.map(({ stream, schema }) => ({ name: stream, fields: schema })));
    },
  },
];

const latest = '2026-03-01T00:00:00.000Z';
const tickets = [
  ...Array.from({ length: 250 }, (_, index) => build.ticket({ id: `ti_${index}` })),
  build.ticket({ id: 'ti_latest', updatedAt: latest }),
];
const apis = useApiProcesses({
  channel: [build.channel({ id: 'chan_1', type: 'email' })],
  qa: [build.qa({ id: 'qa_1' })],
});
let api: ApiProcess;

beforeAll(async () => {
  const jq = await run('jq', ['--version']);
  if (!jq.ok) await aptInstall(['jq']);
  api = await apis.startServing({ RATE_LIMIT_REQUESTS: '6' });
});

const { components } = JSON.parse(readFileSync('openapi.json', 'utf8')) as OpenApiDocument;
const fieldNames = (schema: string) => Object.keys(components.schemas[schema]?.properties ?? {}).sort();

/** Installs the packages of a connector; null, with a line that says why, on a machine that cannot. */
async function install({ guide, folder: name, package: wanted }: Connector) {
  const report = (line: string) => process.stdout.write(`${line}\n`);
  const pinned = ['--constraint', `tests/docs-site/python/${guide}.txt`, wanted];
  try {
    return await installPythonPackages(report, name, pinned);
  } catch (error) {
    report(`The guide to ${guide} is not tested: ${errorMessage(error)}`);
    return null;
  }
}

type Rows = Record<string, Row[]>;

const idsOf = (rows: Row[] | undefined) => rows?.map(({ id }) => id).sort();

describe.each(connectors)('the guide to $guide', (connector) => {
  const { guide, file, rowOf, fieldsOf } = connector;
  const folder = useFolder();
  /** Singer's SDK does not accept the test's own certificate authority, so the connectors use HTTP up to a proxy. */
  let proxy: RefusingProxy;
  let packages: PythonPackages | null;
  let firstRows: Rows = {};

  const read = (name: string) => readFileSync(join(folder.path, name), 'utf8');
  /** Runs the script of the guide. Returns the rows by stream. */
  const sync = async ({ env, folder: installed }: PythonPackages, address = proxy.url): Promise<Rows> => {
    const PATH = `${join(installed, 'bin')}:${process.env.PATH}`;
    const { ok, output } = await run('bash', ['script'], {
      cwd: folder.path,
      env: { ...env, PATH, HOME: folder.path, API: address, API_KEY: tokens.a },
    });
    if (!ok) throw new Error(output);
    const rows: Rows = {};
    for (const line of read('messages.jsonl').split('\n').filter(Boolean)) {
      const found = rowOf(JSON.parse(line) as Message);
      if (found) (rows[found.stream] ??= []).push(found.row);
    }
    return rows;
  };

  beforeAll(async () => {
    const { database } = apis.store;
    await database.collection('tickets').deleteMany({});
    await build.store(database, 'ticket', tickets);
    const page = readFileSync(`docs/guides/${guide}.md`, 'utf8');
    const blocks = [...page.matchAll(/```(?:yaml|python|sh) [^\n]+\n([^]*?)```/g)];
    for (const [index, name] of [file, 'script'].entries())
      writeFileSync(join(folder.path, name), blocks[index]?.[1] ?? '');
    proxy = await startRefusingProxy(`http://127.0.0.1:${api.port}`);
    packages = await install(connector);
    if (packages) firstRows = await sync(packages);
  });
  afterAll(() => proxy.close());

  test('reads every list, and repeats the requests that a proxy has refused', () => {
    if (!packages) return;
    expect(proxy.refusals()).toBe(refusalCount);
    expect(idsOf(firstRows.tickets)).toEqual(tickets.map(({ _id }) => _id).sort());
    expect([idsOf(firstRows.channels), idsOf(firstRows.qas)]).toEqual([['chan_1'], ['qa_1']]);
    expect(firstRows.tickets?.[0]?.requester).toMatchObject({ name: 'Ada', email: { verified: true } });
  });

  test('declares each field of the lists: destinations make columns of the declared fields alone', () => {
    if (!packages) return;
    expect(fieldsOf(read('catalog.json'))).toEqual({
      tickets: fieldNames('TicketItem'),
      channels: fieldNames('ChannelItem'),
      qas: fieldNames('Qa'),
    });
  });

  test('reads only the tickets that have changed at the next sync', async () => {
    if (!packages) return;
    const { database } = apis.store;
    await database.collection<{ _id: string }>('tickets').deleteMany({ _id: { $in: ['ti_7', 'ti_8'] } });
    const changed = build.ticket({ id: 'ti_7', title: 'changed', updatedAt: '2026-03-02T00:00:00.000Z' });
    await build.store(database, 'ticket', [changed]);
    const rows = await sync(packages);
    // The latest ticket of the first sync comes again, because bounds are inclusive. The deleted ti_8 does not.
    expect(idsOf(rows.tickets)).toEqual(['ti_7', 'ti_latest']);
    expect(rows.tickets?.find(({ id }) => id === 'ti_7')).toMatchObject({ title: 'changed' });
    expect([idsOf(rows.channels), idsOf(rows.qas)]).toEqual([['chan_1'], ['qa_1']]);
  });

  test('waits for the rate limit', () => {
    if (!packages) return;
    expect(api.log.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  });

  if (guide === 'airbyte')
    test('the connector names the cause of a mistyped address within a minute', async () => {
      if (!packages) return;
      const failure = await sync(packages, 'http://127.0.0.1:1').then(String, errorMessage);
      expect(failure).toContain('Connection refused');
      const retries = failure.matchAll(/Retrying in ([\d.]+) seconds/g);
      const waitSeconds = [...retries].map(([, seconds]) => Number(seconds));
      expect(waitSeconds).toHaveLength(10);
      expect(waitSeconds.reduce((sum, seconds) => sum + seconds, 0)).toBeLessThan(60);
    });
});
