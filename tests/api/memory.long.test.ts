import type { ClientHttp2Session } from 'node:http2';
import { peakMegabytes } from '../support/memory.ts';
import { ask } from './requests.ts';
import { eventually } from '../support/eventually.ts';
import type { ApiProcess } from './api-process.ts';
import { openApiProcesses, type ApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { expectAnswering, openUnread } from './raw-socket.ts';

/** The memory limit of the API with its default settings, for any requests. */
const residentMegabytesMax = 768;
const organizations = 5;
const messages = 40;
const sessionsPerOrganization = 2;
const requestsPerSession = 62;

const orgOf = (index: number) => `org_large_${index}`;
const tokenOf = (index: number) => `svc_live_largelargelarge${index}`;

let children: ApiProcesses;
let child: ApiProcess;

beforeAll(async () => {
  children = await openApiProcesses();
  const { database } = children.store;
  for (let org = 0; org < organizations; org += 1) {
    const orgId = orgOf(org);
    await build.store(database, 'apiKey', [
      build.apiKey(tokenOf(org), { id: `key_large_${org}` }, { orgId }),
    ]);
    await build.store(database, 'conversation', [build.conversation({ id: `conv_${org}` }, { orgId })]);
    for (let index = 0; index < messages; index += 1) {
      const fields = {
        id: `msg_${org}_${index}`,
        conversationId: `conv_${org}`,
        content: 'é'.repeat(450_000),
      };
      await build.store(database, 'message', [build.message(fields, { orgId })]);
    }
  }
  await build.store(database, 'ticket', [build.ticket({ id: 'ti_1' })]);
  child = await children.startServing();
}, 120_000);

afterAll(async () => {
  process.stdout.write(`${Math.round(peakMegabytes(child))} MB resident at the most\n`);
  await children.close();
}, 60_000);

/** Requests as many large responses as one organization may have, and reads none. */
const fill = (session: ClientHttp2Session, org: number, path: string) =>
  Promise.all(
    Array.from({ length: requestsPerSession }, () => {
      const headers = { ':path': path, authorization: `Bearer ${tokenOf(org)}` };
      const stream = session.request(headers).on('error', () => undefined);
      return new Promise((resolve) => stream.once('response', resolve).once('close', resolve));
    }),
  );

const pages = (org: number) => `/v1/conversations/conv_${org}/messages?limit=100`;
const conversations = (org: number) => `/v1/conversations/conv_${org}`;

/** Uses up the share of this many organizations; the returned sessions hold it until they are destroyed. */
async function fillAll(count: number, pathOf: (org: number) => string): Promise<ClientHttp2Session[]> {
  const opened = Array.from({ length: count * sessionsPerOrganization }, async (_, index) => {
    const session = await openUnread(child);
    await fill(session, index % count, pathOf(index % count));
    return session;
  });
  return Promise.all(opened);
}

it.each([
  ['pages', pages],
  ['conversations', conversations],
])(
  'stays under its limit while clients of five organizations leave %s of large messages unread',
  async (_, pathOf) => {
    const sessions = await fillAll(organizations, pathOf);
    expect((await ask(child, '/health')).status).toBe(200);
    expect(peakMegabytes(child)).toBeLessThan(residentMegabytesMax);
    for (const session of sessions) session.destroy();
    await eventually(async () => (await ask(child, '/v1/tickets/ti_1')).status === 200);
  },
  180_000,
);

it('serves others while clients of three organizations leave their whole share unread', async () => {
  const sessions = await fillAll(3, pages);
  await expectAnswering(child);
  for (const session of sessions) session.destroy();
}, 180_000);
