import { createThrottle } from './throttle.ts';
import type { Applied } from '../consumer/partition-worker.ts';
import type { KafkaRecord } from '../kafka/record-format.ts';

const nothing: Applied = { events: 0, rejected: [], times: [] };
const records = Array.from({ length: 10 }, () => ({}) as KafkaRecord);
const context = (signal = new AbortController().signal) => {
  const counted = { progress: 0 };
  return { counted, signal, onProgress: () => (counted.progress += 1) };
};
/** A batch that ends when `end` is called. */
const openBatch = () => {
  let end = () => {};
  const ended = new Promise<Applied>((resolve) => (end = () => resolve(nothing)));
  return { apply: () => ended, end };
};
const immediately = () => new Promise((resolve) => setImmediate(resolve));

describe('the throttle', () => {
  it('applies a batch at once without a setting', async () => {
    const { counted, ...one } = context();
    await createThrottle(() => 0).run(records, one, async () => nothing);
    expect(counted.progress).toBe(0);
  });

  it('holds a worker back at pace 0, counts it as in progress, and lets it go on at a higher pace', async () => {
    const throttle = createThrottle(() => 0);
    throttle.set({ pace: 0, oneAtATime: false });
    const { counted, ...one } = context();
    let isApplied = false;
    const running = throttle.run(records, one, async () => {
      isApplied = true;
      return nothing;
    });
    await immediately();
    expect([isApplied, counted.progress]).toEqual([false, 1]);
    throttle.set({ pace: 1, oneAtATime: false });
    await running;
    expect(isApplied).toBe(true);
  });

  it('starts no batch earlier than the pace allows', async () => {
    let nowMs = 0;
    const throttle = createThrottle(() => nowMs);
    throttle.set({ pace: 100, oneAtATime: false });
    const { counted, ...one } = context();
    await throttle.run(records, one, async () => nothing);
    nowMs = 99;
    const second = throttle.run(records, one, async () => nothing);
    expect(counted.progress).toBe(1);
    nowMs = 100;
    await second;
  });

  it('applies a changed pace to the time since the last batch', async () => {
    let nowMs = 0;
    const throttle = createThrottle(() => nowMs);
    throttle.set({ pace: 1, oneAtATime: false });
    const { counted, ...one } = context();
    await throttle.run(records, one, async () => nothing);
    nowMs = 10;
    throttle.set({ pace: 1_000, oneAtATime: false });
    await throttle.run(records, one, async () => nothing);
    expect(counted.progress).toBe(0);
  });

  it.each(['signal', 'stopping'])('ends the wait of a worker when its %s aborts', async (name) => {
    const throttle = createThrottle(() => 0);
    throttle.set({ pace: 0, oneAtATime: false });
    const ending = new AbortController();
    const running = throttle.run(records, { ...context(), [name]: ending.signal }, async () => nothing);
    ending.abort();
    await expect(running).rejects.toThrow();
  });

  it('applies one batch at a time, in the order in which they came, also after one that failed', async () => {
    const throttle = createThrottle(() => 0);
    throttle.set({ oneAtATime: true });
    const seen: string[] = [];
    const batch = (name: string) =>
      throttle.run(records, context(), async () => {
        seen.push(`${name} begins`);
        await immediately();
        seen.push(`${name} ends`);
        if (name === 'b') throw new Error('refused');
        return nothing;
      });
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map(batch));
    expect(seen).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('ends the wait for another batch when the worker is to stop', async () => {
    const throttle = createThrottle(() => 0);
    throttle.set({ oneAtATime: true });
    const { apply, end } = openBatch();
    const first = throttle.run(records, context(), apply);
    const stopping = new AbortController();
    const second = throttle.run(records, { ...context(), stopping: stopping.signal }, async () => nothing);
    stopping.abort();
    await expect(second).rejects.toThrow();
    end();
    expect(await first).toBe(nothing);
  });

  it('starts no batch that waits for another one after the pace has become 0', async () => {
    const throttle = createThrottle(() => 0);
    throttle.set({ oneAtATime: true });
    const { apply, end } = openBatch();
    const first = throttle.run(records, context(), apply);
    let isApplied = false;
    const second = throttle.run(records, context(), async () => {
      isApplied = true;
      return nothing;
    });
    throttle.set({ pace: 0, oneAtATime: true });
    end();
    await first;
    await immediately();
    expect(isApplied).toBe(false);
    throttle.set({ oneAtATime: true });
    await second;
  });
});
