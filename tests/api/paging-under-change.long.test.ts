import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiProcess } from './api-process.ts';
import { peakMegabytes } from '../support/memory.ts';
import { openApiProcesses, type ApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { tokens } from './test-api.ts';
import { askUnread, expectAnswering, host, open, openUnread } from './raw-socket.ts';

const size = 20_000;
const ranges = 8;
const clients = 64;
const perRange = size / ranges;
/**
 * What the API may hold at most, whatever its clients do: 150 MB when idle; 430 MB were measured with 64 walks
 * for two minutes and 504 after all of these tests, most of it V8's room for what pages leave behind.
 */
const residentMegabytesMax = 700;

const idOf = (index: number) => `ti_${String(index).padStart(6, '0')}`;
const secondOf = (index: number) => new Date(Date.parse(build.at) + index * 1_000).toISOString();

let children: ApiProcesses;
let child: ApiProcess;

beforeAll(async () => {
  children = await openApiProcesses();
  const tickets = Array.from({ length: size }, (_, index) =>
    build.ticket({ id: idOf(index), createdAt: secondOf(index), updatedAt: secondOf(index) }),
  );
  await build.store(children.store.database, 'ticket', tickets);
  // All these clients belong to one organization, which may use a quarter.
  child = await children.startServing({ API_REQUESTS_MAX: '2000' });
}, 120_000);

afterAll(async () => {
  process.stdout.write(`${Math.round(peakMegabytes(child))} MB resident at the most\n`);
  await children.close();
}, 60_000);

type Page = { data: { id: string }[]; nextCursor: string | null };

const headers = { authorization: `Bearer ${tokens.a}`, 'x-forwarded-proto': 'https' };
const request = (path: string, agent: Agent | false) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    get({ host, port: child.port, path, agent, headers }, resolve).on('error', reject);
  });

async function pageAt(path: string, agent: Agent): Promise<Page> {
  const response = await request(path, agent);
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${text}`);
  return JSON.parse(text) as Page;
}

/** Reads all pages of one range; returns the ids in the order received. */
async function readAllPages(range: number, agent: Agent): Promise<string[]> {
  const [first, last] = [range * perRange, (range + 1) * perRange - 1];
  const bounds = `createdAt[gte]=${secondOf(first)}&createdAt[lte]=${secondOf(last)}`;
  const ids: string[] = [];
  let after = '';
  for (;;) {
    const page = await pageAt(`/v1/tickets?limit=100&sort=createdAt&${bounds}${after}`, agent);
    ids.push(...page.data.map(({ id }) => id));
    if (page.nextCursor === null) return ids;
    after = `&startingAfter=${page.nextCursor}`;
  }
}

it('64 concurrent clients each read every document of their range once, while others stall and hang up', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  let isDone = false;
  const troubled = (async () => {
    while (!isDone) {
      const [stalled, leaving] = await Promise.all([
        request('/v1/tickets?limit=100', false),
        request('/v1/tickets?limit=100', false),
      ]);
      stalled.pause();
      leaving.destroy();
      await expectAnswering(child);
    }
  })();
  const walks = await Promise.all(
    Array.from({ length: clients }, (_, index) => readAllPages(index % ranges, agent)),
  );
  isDone = true;
  await troubled;
  agent.destroy();
  for (const [index, ids] of walks.entries()) {
    const first = (index % ranges) * perRange;
    expect(ids).toEqual(Array.from({ length: perRange }, (_, offset) => idOf(first + offset)));
  }
  expect(peakMegabytes(child)).toBeLessThan(residentMegabytesMax);
}, 120_000);

describe('a client that requests much and reads nothing', () => {
  it.each([
    ['/health', 200_000],
    ['/openapi.json', 20_000],
    ['/v1/tickets?limit=100', 20_000],
  ])(
    'has %s produced only as far as it reads, when pipelining',
    async (path, count) => {
      const socket = await open(child, false);
      socket.on('error', () => undefined).pause();
      const lines = Object.entries({ host: 'a', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`.repeat(count));
      for (let round = 0; round < 20; round += 1) {
        await expectAnswering(child);
        await sleep(50);
      }
      socket.destroy();
      expect(peakMegabytes(child)).toBeLessThan(residentMegabytesMax);
    },
    60_000,
  );

  it.each(['/openapi.json', '/v1/tickets?limit=100'])(
    'has %s produced only as often as HTTP/2 streams allow',
    async (path) => {
      const sessions = await Promise.all(Array.from({ length: 4 }, () => openUnread(child)));
      for (const session of sessions) for (let index = 0; index < 100; index += 1) askUnread(session, path);
      for (let round = 0; round < 20; round += 1) {
        await expectAnswering(child);
        await sleep(50);
      }
      for (const session of sessions) session.destroy();
      expect(peakMegabytes(child)).toBeLessThan(residentMegabytesMax);
    },
    60_000,
  );
});
