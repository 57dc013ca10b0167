import { peakMegabytes } from '../support/memory.ts';
import { ask } from './requests.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses, type ApiProcess } from './api-processes.ts';
import * as build from './builders.ts';
import { metricOf, open, openUnread, requestText } from './raw-socket.ts';

/** The memory limit of the API with its default settings, for any requests. */
const residentMegabytesMax = 768;
const organizations = 20;
const messages = 12;
const sessionsPerOrganization = 2;
const requestsPerSession = 62;
const connectionsPerOrganization = 8;

const orgOf = (index: number) => `org_large_${index}`;
const tokenOf = (index: number | string) => `svc_live_large${index}`;

const children = useApiProcesses();
let child: ApiProcess;

beforeAll(async () => {
  const { database } = children.store;
  for (let org = 0; org < organizations; org += 1) {
    const orgId = orgOf(org);
    await build.store(database, 'apiKey', [build.apiKey(tokenOf(org), { id: `key_${org}` }, { orgId })]);
    await build.store(database, 'conversation', [build.conversation({ id: `conv_${org}` }, { orgId })]);
    const content = '漢'.repeat(300_000);
    const stored = Array.from({ length: messages }, (_, index) =>
      build.message({ id: `msg_${org}_${index}`, conversationId: `conv_${org}`, content }, { orgId }),
    );
    await build.store(database, 'message', stored);
  }
  child = await children.startServing();
});

afterEach(() => process.stdout.write(`${Math.round(peakMegabytes(child))} MB resident at the most\n`));

/** Sends requests whose responses are never read, and resolves when each has a status or is refused; returns a release. */
type Leave = (org: number) => Promise<() => void>;

const overHttp2 =
  (pathOf: (org: number) => string): Leave =>
  async (org) => {
    const sessions = await Promise.all(
      Array.from({ length: sessionsPerOrganization }, () => openUnread(child)),
    );
    const streams = sessions.flatMap((session) =>
      Array.from({ length: requestsPerSession }, () => {
        const headers = { ':path': pathOf(org), authorization: `Bearer ${tokenOf(org)}` };
        const stream = session.request(headers).on('error', () => undefined);
        return new Promise((resolve) => stream.once('response', resolve).once('close', resolve));
      }),
    );
    await Promise.all(streams);
    return () => sessions.forEach((session) => session.destroy());
  };

const overHttp1 =
  (pathOf: (org: number) => string): Leave =>
  async (org) => {
    const opening = Array.from({ length: connectionsPerOrganization }, async () => {
      const socket = await open(child, false);
      socket.write(requestText(pathOf(org), '', tokenOf(org)));
      await new Promise((resolve) => socket.once('readable', resolve));
      return socket;
    });
    const sockets = await Promise.all(opening);
    return () => sockets.forEach((socket) => socket.destroy());
  };

const pages = (org: number) => `/v1/conversations/conv_${org}/messages?limit=100`;
const conversations = (org: number) => `/v1/conversations/conv_${org}`;

const ways: [string, Leave][] = [
  ['small HTTP/2 responses', overHttp2(() => '/v1/tickets')],
  ['pages of large messages over HTTP/2', overHttp2(pages)],
  ['large conversations over HTTP/2', overHttp2(conversations)],
  ['large conversations over HTTP/1.1', overHttp1(conversations)],
];

/** An organization that the API does not know yet, with one ticket. Returns its headers. */
async function newcomer(name: string) {
  const { database } = children.store;
  const orgId = `org_new_${name}`;
  await build.store(database, 'apiKey', [build.apiKey(tokenOf(name), { id: `key_${name}` }, { orgId })]);
  await build.store(database, 'ticket', [build.ticket({ id: `ti_${name}` }, { orgId })]);
  return { Authorization: `Bearer ${tokenOf(name)}` };
}

describe.each([4, 5, 20])('while %d organizations leave their responses unread', (count) => {
  it.each(ways)(
    'the next one gets its data, and memory is bounded: %s',
    async (way, leave) => {
      const headers = await newcomer(`${count}-${ways.findIndex(([name]) => name === way)}`);
      const releases = await Promise.all(Array.from({ length: count }, (_, org) => leave(org)));
      const page = await ask(child, '/v1/tickets?limit=100', { headers });
      expect([page.status, (JSON.parse(page.text) as { data: unknown[] }).data.length]).toEqual([200, 1]);
      expect((await ask(child, '/health')).status).toBe(200);
      expect(peakMegabytes(child)).toBeLessThan(residentMegabytesMax);
      for (const release of releases) release();
      await eventually(async () => (await metricOf(child, 'api_answers_bytes')) === 0);
      expect(await metricOf(child, 'api_reads_in_progress')).toBe(0);
      expect(await metricOf(child, 'api_reads_waiting')).toBe(0);
    },
    180_000,
  );
});
