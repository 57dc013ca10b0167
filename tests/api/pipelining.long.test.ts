import { setTimeout as sleep } from 'node:timers/promises';
import { waitingRequestsMax } from '../../services/api/server/connections.ts';
import { peakMegabytes, residentBytes } from '../support/memory.ts';
import { useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { expectAnswering, metricOf, open, requestText } from './raw-socket.ts';

/** The most memory that the API may hold here: 150 MB when idle, and the garbage that V8 leaves. */
const residentMegabytesMax = 700;

const children = useApiProcesses({
  ticket: Array.from({ length: 100 }, (_, index) => build.ticket({ id: `ti_${index}` })),
});

const pipelined = (path: string, count: number) =>
  requestText(path).replace('Connection: close\r\n', '').repeat(count);

test.each([
  ['/health', 200_000],
  ['/openapi.json', 20_000],
  ['/v1/tickets?limit=100', 20_000],
])(
  'a client that pipelines %s without an end is disconnected, and others are served',
  async (path, count) => {
    const child = await children.startServing();
    const refused = await metricOf(child, 'api_connections_refused_total');
    const socket = await open(child);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(pipelined(path, count));
    for (let round = 0; round < 20; round += 1) {
      await expectAnswering(child);
      await sleep(50);
    }
    expect(await metricOf(child, 'api_connections_refused_total')).toBe(refused + 1);
    socket.destroy();
    process.stdout.write(`${Math.round(peakMegabytes(child))} MB resident at most\n`);
    expect(peakMegabytes(child)).toBeLessThan(residentMegabytesMax);
    await child.stop();
  },
);

test('a client that pipelines as many requests as may wait, and reads nothing, takes 150 KB at most', async () => {
  const child = await children.startServing();
  const connections = 400;
  const hold = async () => {
    const socket = await open(child);
    socket.pause();
    socket.write(pipelined('/openapi.json', waitingRequestsMax + 1));
    await new Promise((resolve) => socket.once('readable', resolve));
    return socket;
  };
  (await hold()).destroy();
  const before = residentBytes(child);
  const held = [];
  for (let count = 0; count < connections; count += 1) held.push(await hold());
  await expectAnswering(child);
  const each = (residentBytes(child) - before) / connections;
  process.stdout.write(`${Math.round(each / 1_024)} KB for each connection\n`);
  expect(each).toBeLessThan(150_000);
  expect(held.filter(({ destroyed }) => destroyed)).toEqual([]);
  for (const socket of held) socket.destroy();
  await child.stop();
});
