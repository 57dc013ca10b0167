import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { peakMegabytes } from '../support/memory.ts';
import { useApiProcesses, type ApiProcess } from './api-processes.ts';
import * as build from './builders.ts';
import { expectAnswering, open, requestText } from './raw-socket.ts';
import { begin, textOf } from './requests.ts';

const size = 20_000;
const ranges = 8;
const clients = 64;
const perRange = size / ranges;
/**
 * The most memory that the API may hold, whatever its clients do: 150 MB when idle; 430 MB were measured with 64 walks
 * for two minutes and 504 after all of these tests, most of it V8's room for garbage of earlier pages.
 */
const residentMegabytesMax = 700;

const idOf = (index: number) => `ti_${String(index).padStart(6, '0')}`;
const secondOf = (index: number) => new Date(Date.parse(build.at) + index * 1_000).toISOString();

const children = useApiProcesses({
  ticket: Array.from({ length: size }, (_, index) =>
    build.ticket({ id: idOf(index), createdAt: secondOf(index), updatedAt: secondOf(index) }),
  ),
});
let child: ApiProcess;

beforeAll(async () => {
  // All these clients belong to one organization, which may use a quarter.
  child = await children.startServing({ API_REQUESTS_MAX: '2000' });
});

afterEach(() => process.stdout.write(`${Math.round(peakMegabytes(child))} MB resident at the most\n`));

type Page = { data: { id: string }[]; nextCursor: string | null };

async function pageAt(path: string, agent: Agent): Promise<Page> {
  const response = await begin(child, path, { secure: false, agent });
  const text = await textOf(response);
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
        begin(child, '/v1/tickets?limit=100', { secure: false }),
        begin(child, '/v1/tickets?limit=100', { secure: false }),
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
});

describe('a client that requests much and reads nothing', () => {
  it.each([
    ['/health', 200_000],
    ['/openapi.json', 20_000],
    ['/v1/tickets?limit=100', 20_000],
  ])('has %s produced only as far as it reads, when pipelining', async (path, count) => {
    const socket = await open(child, false);
    socket.pause();
    socket.write(requestText(path).replace('Connection: close\r\n', '').repeat(count));
    for (let round = 0; round < 20; round += 1) {
      await expectAnswering(child);
      await sleep(50);
    }
    socket.destroy();
    expect(peakMegabytes(child)).toBeLessThan(residentMegabytesMax);
  });
});
