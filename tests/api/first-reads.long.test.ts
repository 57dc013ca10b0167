import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { examples } from '../support/example-states.ts';
import { useApiProcesses, type ApiProcess } from './api-processes.ts';
import * as build from './builders.ts';
import { urls } from './every-route.ts';
import { ask, begin } from './requests.ts';

const threadLength = 100_000;
const requestsAtOnce = 8;
const requestsEach = 30;
/** Each of the other requests in progress, several times over: a large read waits for those before it. */
const passedMax = 8 * requestsAtOnce;

const children = useApiProcesses({
  ticket: [build.ticket({ id: examples.ticket.id })],
  conversation: [examples.conversation.id, 'conv_long'].map((id) => build.conversation({ id })),
  message: [
    build.message({ id: examples.message.id, conversationId: examples.conversation.id }),
    ...build.thread('conv_long', threadLength),
  ],
  channel: [build.channel({ id: examples.channel.id })],
  qa: [build.qa({ id: examples.qa.id })],
});

/** The API as it has just started: it knows no sizes of documents yet, so that the first read of each kind counts 16 MB. */
async function startFresh(): Promise<ApiProcess> {
  const child = await children.start({ API_TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_REQUESTS: '0' });
  await child.logged('serving generation');
  return child;
}

/**
 * One key reads every resource, always with eight requests in progress. Returns refusals, and how many responses that
 * were begun later a request saw end before its own: a read that starves is passed by hundreds, on any machine.
 */
async function readEverything(child: ApiProcess) {
  const refused: string[] = [];
  let [ended, passedMost, slowestMs] = [0, 0, 0];
  const read = async (first: number) => {
    for (let index = first; index < first + requestsEach; index += 1) {
      const url = urls[index % urls.length] ?? '';
      const [startMs, endedBefore] = [performance.now(), ended];
      const { status } = await ask(child, url);
      const ms = Math.round(performance.now() - startMs);
      if (status !== 200) refused.push(`${status} ${url} after ${ms} ms`);
      passedMost = Math.max(passedMost, ended - endedBefore);
      slowestMs = Math.max(slowestMs, ms);
      ended += 1;
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, (_, first) => read(first)));
  process.stdout.write(`The slowest response took ${slowestMs} ms; one was passed by ${passedMost} others\n`);
  return { refused, passedMost };
}

/** Takes the response of the thread slowly: 64 KB every 20 ms. */
async function takeSlowly(child: ApiProcess, { signal }: AbortController): Promise<number> {
  const response = await begin(child, '/v1/conversations/conv_long');
  let taken = 0;
  while (!signal.aborted) {
    const chunk = response.read() as Buffer | null;
    taken += chunk?.length ?? 0;
    await sleep(20);
  }
  response.destroy();
  return taken;
}

describe('beside a busy processor, one key reads every resource of a fresh API, eight at a time', () => {
  let busy: Worker;
  beforeEach(() => void (busy = new Worker('for (;;);', { eval: true })));
  afterEach(() => busy.terminate());

  it.each([
    ['at start 1', false],
    ['at start 2', false],
    ['at start 3', false],
    ['while it takes a thread of 100,000 messages slowly', true],
  ])('and no response is refused or passed by many others: %s', async (_, takesThread) => {
    const child = await startFresh();
    const over = new AbortController();
    const taken = takesThread ? takeSlowly(child, over) : null;
    const { refused, passedMost } = await readEverything(child);
    over.abort();
    expect(await taken).not.toBe(0);
    expect(refused).toEqual([]);
    expect(passedMost).toBeLessThan(passedMax);
    await child.stop();
  });
});
