import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../infra/dev-servers/native/run.ts';
import type { OpenApiDocument } from '../../services/api/openapi/spec.ts';
import { channelExample } from '../../services/api/resources/channels/schema.ts';
import { conversationExample } from '../../services/api/resources/conversations/schema.ts';
import { ticketExample } from '../../services/api/resources/tickets/schema.ts';
import { type ApiProcess, useApiProcesses } from '../api/api-processes.ts';
import * as build from '../api/builders.ts';
import { ask } from '../api/requests.ts';
import { tokens } from '../api/test-api.ts';
import { installPythonPackages, type PythonPackages } from '../support/python-packages.ts';

/** The numbers of the items of each resource. A list of 30 items has several pages. */
const itemNumbers = Array.from({ length: 30 }, (_, index) => index);
const conversationId = conversationExample.id;
const apis = useApiProcesses({
  ticket: [
    build.ticket({ id: ticketExample.id }),
    ...itemNumbers.map((index) => build.ticket({ id: `ti_${index}`, status: index % 2 ? 'open' : 'closed' })),
  ],
  conversation: [build.conversation({ id: conversationId })],
  message: itemNumbers.map((index) => build.message({ id: `msg_${index}`, conversationId })),
  channel: [
    build.channel({ id: channelExample.id, type: 'email' }),
    ...itemNumbers.map((index) =>
      build.channel({ id: `chan_${index}`, type: index % 2 ? 'chatbot' : 'form' }),
    ),
  ],
  qa: itemNumbers.map((index) => build.qa({ id: `qa_${index}` })),
});
let api: ApiProcess;
let schemathesis: PythonPackages;
const version = '4.32.5';

beforeAll(async () => {
  const report = (line: string) => process.stdout.write(`${line}\n`);
  schemathesis = await installPythonPackages(report, `schemathesis-${version}`, [`schemathesis==${version}`]);
  api = await apis.start({ ...apis.tls, RATE_LIMIT_REQUESTS: '1000000' });
});

test('the API answers every request generated from the OpenAPI document as the document allows', async () => {
  // Schemathesis skips the endpoint from which it reads the document, so it reads a file.
  const served = await ask(api, '/openapi.json');
  const document = join(apis.folder, 'openapi.json');
  writeFileSync(document, served.text);
  const url = `https://localhost:${api.port}`;
  const { ok, output } = await run(
    'python3',
    [
      join(schemathesis.folder, 'bin', 'schemathesis'),
      '--config-file',
      join(__dirname, 'schemathesis.toml'),
      'run',
      document,
      '--url',
      url,
      '--tls-verify',
      apis.tls.API_TLS_CERT ?? '',
      '--header',
      `Authorization: Bearer ${tokens.a}`,
    ],
    {
      cwd: apis.folder,
      env: { ...schemathesis.env, SCHEMATHESIS_HOOKS: join(__dirname, 'hooks.py') },
      limitMs: 400_000,
    },
  );
  if (!ok) throw new Error(output);
  const { paths } = JSON.parse(served.text) as OpenApiDocument;
  const operations = Object.keys(paths).length;
  expect(output).toContain(`Selected: ${operations}/${operations}`);
  expect(output).toContain(`Tested: ${operations}`);
});
