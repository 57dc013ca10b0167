import { setTimeout as sleep } from 'node:timers/promises';
import { peakMegabytes } from '../support/memory.ts';
import { useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { expectAnswering, open, requestText } from './raw-socket.ts';

/** The most memory that the API may hold here: 150 MB when idle, and room of V8 for garbage. */
const residentMegabytesMax = 700;

const children = useApiProcesses({
  ticket: Array.from({ length: 100 }, (_, index) => build.ticket({ id: `ti_${index}` })),
});

it.each([
  ['/health', 200_000],
  ['/openapi.json', 20_000],
  ['/v1/tickets?limit=100', 20_000],
])(
  'a client that pipelines and reads nothing has %s produced only as far as it reads',
  async (path, count) => {
    const child = await children.startServing();
    const socket = await open(child, false);
    socket.pause();
    socket.write(requestText(path).replace('Connection: close\r\n', '').repeat(count));
    for (let round = 0; round < 20; round += 1) {
      await expectAnswering(child);
      await sleep(50);
    }
    socket.destroy();
    process.stdout.write(`${Math.round(peakMegabytes(child))} MB resident at the most\n`);
    expect(peakMegabytes(child)).toBeLessThan(residentMegabytesMax);
    await child.stop();
  },
);
