import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificates, type Certificates } from '../../infra/demo/certificates.ts';
import { run } from '../../infra/dev-servers/native/run.ts';
import { channelExample } from '../../services/api/resources/channels/examples.ts';
import { conversationExample } from '../../services/api/resources/conversations/examples.ts';
import type { OpenApiDocument } from '../../services/api/openapi/types.ts';
import { ticketExample } from '../../services/api/resources/tickets/examples.ts';
import { ask } from '../api/requests.ts';
import { startApiProcess, type ApiProcess } from '../api/api-process.ts';
import * as build from '../api/builders.ts';
import { mongoUrl, startStore, tokens, type TestStore } from '../api/test-api.ts';
import { installSchemathesis, type Program } from './install.ts';

let store: TestStore;
let api: ApiProcess;
let folder: string;
let certificates: Certificates;
let schemathesis: Program;

/** Enough of each resource for lists of several pages; those that examples name are among them. */
async function fill({ database }: TestStore): Promise<void> {
  const several = Array.from({ length: 30 }, (_, index) => index);
  const conversationId = conversationExample.id;
  await build.store(database, 'ticket', [
    build.ticket({ id: ticketExample.id }),
    ...several.map((index) => build.ticket({ id: `ti_${index}`, status: index % 2 ? 'open' : 'closed' })),
  ]);
  await build.store(database, 'conversation', [build.conversation({ id: conversationId })]);
  await build.store(
    database,
    'message',
    several.map((index) => build.message({ id: `msg_${index}`, conversationId })),
  );
  await build.store(database, 'channel', [
    build.channel({ id: channelExample.id, type: 'email' }),
    ...several.map((index) => build.channel({ id: `chan_${index}`, type: index % 2 ? 'chatbot' : 'form' })),
  ]);
  await build.store(
    database,
    'qa',
    several.map((index) => build.qa({ id: `qa_${index}` })),
  );
}

beforeAll(async () => {
  schemathesis = await installSchemathesis((line) => process.stdout.write(`${line}\n`));
  store = await startStore();
  await fill(store);
  folder = mkdtempSync(join(tmpdir(), 'schemathesis-'));
  certificates = await createCertificates(folder);
  api = await startApiProcess({
    MONGODB_URL: mongoUrl(),
    DATABASE_NAME: store.name,
    API_TLS_CERT: certificates.certificate,
    API_TLS_KEY: certificates.key,
    RATE_LIMIT_REQUESTS: '1000000',
  });
}, 600_000);

afterAll(async () => {
  await api.stop();
  await store.close();
  rmSync(folder, { recursive: true });
}, 60_000);

test('every request generated from the OpenAPI document gets a response that the document allows', async () => {
  // Schemathesis would skip the endpoint that serves the document if it read the document from there.
  const served = await ask(api, '/openapi.json');
  const document = join(folder, 'openapi.json');
  writeFileSync(document, served.text);
  const url = `https://localhost:${api.port}`;
  const { ok, output } = await run(
    schemathesis.command,
    [
      ...schemathesis.args,
      '--config-file',
      join(__dirname, 'schemathesis.toml'),
      'run',
      document,
      '--url',
      url,
      '--tls-verify',
      certificates.authority,
      '--header',
      `Authorization: Bearer ${tokens.a}`,
    ],
    {
      cwd: folder,
      env: { ...schemathesis.env, SCHEMATHESIS_HOOKS: join(__dirname, 'hooks.py') },
      limitMs: 400_000,
    },
  );
  if (!ok) throw new Error(output);
  const { paths } = JSON.parse(served.text) as OpenApiDocument;
  const size = Object.keys(paths).length;
  expect(output).toContain(`Selected: ${size}/${size}`);
  expect(output).toContain(`Tested: ${size}`);
}, 420_000);
