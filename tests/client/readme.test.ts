import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import * as build from '../api/builders.ts';
import { tokens, useApi } from '../api/test-api.ts';
import { useFolder } from '../support/use-opened.ts';
import { joinedConversations } from './test-client.ts';

const joined = joinedConversations(['conv_1', 'conv_2']);
let nowMs = 0;
const api = useApi(
  {
    ticket: [build.ticket({ id: 'ti_1' }, { joined })],
    conversation: ['conv_1', 'conv_2'].map((id) => build.conversation({ id })),
    message: [
      build.message({ id: 'msg_1' }),
      build.message({ id: 'msg_2' }),
      build.message({ id: 'msg_3', conversationId: 'conv_2' }),
    ],
  },
  { hasTls: true, nowMs: () => nowMs },
);
const folder = useFolder();
beforeAll(() => build.dataAsOf(api.store.control, new Date('2026-03-01T00:00:00Z')));

/** Runs the README's example with the client of this repository, and returns the ids in the example's database. */
async function runExample() {
  const readme = readFileSync('clients/typescript/README.md', 'utf8');
  const [, example = ''] = /```ts\n(import \{ DatabaseSync \}[^]*?)```/.exec(readme) ?? [];
  const source = resolve('clients/typescript/src/index.ts');
  writeFileSync(join(folder.path, 'example.mts'), example.replace('@support-read-models/client', source));
  const env = {
    API: `https://localhost:${api.port}`,
    API_KEY: tokens.a,
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NODE_NO_WARNINGS: '1',
  };
  await mustRun(process.execPath, ['example.mts'], { cwd: folder.path, env });
  const database = new DatabaseSync(join(folder.path, 'support.db'));
  const idsOf = (table: string) => {
    const rows = database.prepare(`SELECT id FROM ${table} ORDER BY id`).all();
    return rows.map(({ id }) => id);
  };
  const ids = { tickets: idsOf('tickets'), messages: idsOf('messages') };
  database.close();
  return ids;
}

test("the README's example removes deleted messages and conversations from its copy", async () => {
  expect(await runExample()).toEqual({ tickets: ['ti_1'], messages: ['msg_1', 'msg_2', 'msg_3'] });
  const { database } = api.store;
  await database.collection<{ _id: string }>('messages').deleteOne({ _id: 'msg_1' });
  await database.collection<{ _id: string }>('conversations').deleteOne({ _id: 'conv_2' });
  const updatedAt = '2026-03-01T00:00:00.000Z';
  await build.store(database, 'ticket', [build.ticket({ id: 'ti_2', updatedAt }, { joined })]);
  await build.dataAsOf(api.store.control, new Date('2026-03-02T00:00:00Z'));
  // The API's cache of one second has expired.
  nowMs += 2_000;
  expect(await runExample()).toEqual({ tickets: ['ti_1', 'ti_2'], messages: ['msg_2'] });
});
