import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import type { RequestTrace } from '../../../shared/store/request-traces.ts';
import { createMetrics } from '../metrics.ts';
import { startTraceQueue } from './trace-queue.ts';

const idOf = (index: number) => `req_${index}`;
const idsOf = (count: number) => Array.from({ length: count }, (_, index) => idOf(index));
const trace = (index: number) => ({ _id: idOf(index) }) as RequestTrace;

/** A queue with a store whose availability the test controls. */
function given(limits: Parameters<typeof startTraceQueue>[1]) {
  const stored: string[] = [];
  const batches: string[][] = [];
  const lines: string[] = [];
  const store = { isAway: false };
  const { tracesLost } = createMetrics();
  const queue = startTraceQueue(
    {
      write: async (batch) => {
        batches.push(batch.map(({ _id }) => _id));
        if (store.isAway) throw new Error('away');
        stored.push(...batch.map(({ _id }) => _id));
      },
      lost: tracesLost,
      logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
    },
    { flushIntervalMs: 5, ...limits },
  );
  const lost = async () =>
    Object.fromEntries(
      (await tracesLost.get()).values.flatMap(({ labels, value }) =>
        value > 0 ? [[labels.reason, value]] : [],
      ),
    ) as Record<string, number>;
  return { queue, store, stored, batches, lost, lines: () => lines.join('') };
}

const until = async (holds: () => boolean) => {
  while (!holds()) await setImmediate();
};

describe('the queue of traces', () => {
  it('writes all full batches at once, each trace once', async () => {
    const { queue, stored, batches, lost } = given({});
    for (let index = 0; index < 1_000; index += 1) queue.add(trace(index));
    await until(() => batches.length > 0);
    expect(stored).toEqual(idsOf(1_000));
    await queue.stop();
    expect(stored).toHaveLength(1_000);
    expect(await lost()).toEqual({});
  });

  it('drops, counts and logs traces that arrive when it is full', async () => {
    const { queue, store, stored, lost, lines } = given({ queuedMax: 10 });
    store.isAway = true;
    for (let index = 0; index < 25; index += 1) queue.add(trace(index));
    await until(() => lines().includes('were lost'));
    expect(await lost()).toEqual({ queue_full: 15 });
    expect(lines()).toContain('"traces":15');
    // then it keeps the queued traces until the store is back
    store.isAway = false;
    await queue.stop();
    expect(stored).toHaveLength(10);
  });

  it('writes remaining traces when it stops, or counts them as lost after the grace period', async () => {
    // Two batches.
    const left = given({ flushIntervalMs: 60_000 });
    for (let index = 0; index < 300; index += 1) left.queue.add(trace(index));
    await left.queue.stop();
    expect(left.stored).toEqual(idsOf(300));
    const away = given({ flushIntervalMs: 60_000, shutdownGraceMs: 20 });
    away.store.isAway = true;
    away.queue.add(trace(1));
    await away.queue.stop();
    expect(await away.lost()).toEqual({ shutdown: 1 });
    expect(away.lines()).toContain('"traces":1');
  });

  it('repeats a failed batch as it was, since it may have been stored', async () => {
    const { queue, store, batches } = given({});
    store.isAway = true;
    queue.add(trace(0));
    await until(() => batches.length > 0);
    queue.add(trace(1));
    store.isAway = false;
    await queue.stop();
    expect(batches).toEqual([[idOf(0)], [idOf(0)], [idOf(1)]]);
  });
});
