import type { Socket } from 'node:net';
import { conversationSchema } from '../../services/api/resources/conversations/schema.ts';
import { eventually } from '../support/eventually.ts';
import { mebibyte, peakMegabytes, residentBytes } from '../support/memory.ts';
import { type ApiProcess, useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { holdUnread, metricOf } from './raw-socket.ts';
import { ask } from './requests.ts';

/** The memory limit of the API with its default settings, for any requests. */
const residentMegabytesMax = 768;
const organizations = 20;
const messages = 12;
const connectionsPerOrganization = 8;

const tokenOf = (index: number | string) => `svc_live_large${index}`;

/** The lengths of two threads. */
const lengths = { conv_long: 100_000, conv_warm: 10_000 };

const apis = useApiProcesses({
  conversation: Object.keys(lengths).map((id) => build.conversation({ id })),
  message: Object.entries(lengths).flatMap(([id, length]) => build.thread(id, length)),
});
let api: ApiProcess;

beforeAll(async () => {
  const content = '漢'.repeat(300_000);
  for (let org = 0; org < organizations; org += 1) {
    const owner = { orgId: `org_large_${org}` };
    const conversationId = `conv_${org}`;
    const stored = Array.from({ length: messages }, (_, index) =>
      build.message({ id: `msg_${org}_${index}`, conversationId, content }, owner),
    );
    await build.fill(apis.store.database, {
      apiKey: [build.apiKey(tokenOf(org), { id: `key_${org}` }, owner)],
      conversation: [build.conversation({ id: conversationId }, owner)],
      message: stored,
    });
  }
  api = await apis.startServing();
});

afterEach(() => process.stdout.write(`${Math.round(peakMegabytes(api))} MB resident at most\n`));

/** Sends requests of an organization that never reads the responses. Resolves when each response has begun. */
const leaveUnread = (org: number): Promise<Socket[]> => {
  const requests = Array.from({ length: connectionsPerOrganization }, () =>
    holdUnread(api, `/v1/conversations/conv_${org}`, tokenOf(org)),
  );
  return Promise.all(requests);
};

test('an organization gets its data in bounded memory while all others leave responses unread', async () => {
  // The API does not know this organization yet.
  const owner = { orgId: 'org_new' };
  await build.fill(apis.store.database, {
    apiKey: [build.apiKey(tokenOf('new'), { id: 'key_new' }, owner)],
    ticket: [build.ticket({ id: 'ti_new' }, owner)],
  });
  const headers = { Authorization: `Bearer ${tokenOf('new')}` };
  const unread = await Promise.all(Array.from({ length: organizations }, (_, org) => leaveUnread(org)));
  const page = await ask(api, '/v1/tickets?limit=100', { headers });
  expect(page.status).toBe(200);
  expect(JSON.parse(page.text)).toMatchObject({ data: [{ id: 'ti_new' }] });
  expect((await ask(api, '/health')).status).toBe(200);
  expect(peakMegabytes(api)).toBeLessThan(residentMegabytesMax);
  for (const socket of unread.flat()) socket.destroy();
  await eventually(async () => (await metricOf(api, 'api_answers_bytes')) === 0);
  expect(await metricOf(api, 'api_reads_in_progress')).toBe(0);
  expect(await metricOf(api, 'api_reads_waiting')).toBe(0);
});

test('a conversation of 100,000 messages is served in memory that does not depend on its length', async () => {
  const fresh = await apis.startServing();
  const readAll = async (id: string) => (await ask(fresh, `/v1/conversations/${id}`)).text;
  // The same amount in shorter threads loads the code, fills the pools and grows V8's young generation to its limit.
  for (let index = 0; index < 10; index += 1) await readAll('conv_warm');
  const before = residentBytes(fresh);
  let growth = 0;
  const sampling = setInterval(() => {
    growth = Math.max(growth, residentBytes(fresh) - before);
  }, 5);
  const text = await readAll('conv_long');
  clearInterval(sampling);
  const shown = conversationSchema.parse(JSON.parse(text)).messages;
  expect(shown).toHaveLength(lengths.conv_long);
  expect(shown.every(({ id }, index) => id === `msg_${String(index).padStart(6, '0')}`)).toBe(true);
  process.stdout.write(`RSS growth ${Math.round(growth / mebibyte)} MB for ${text.length} characters\n`);
  expect(growth / mebibyte).toBeLessThan(35);
});
