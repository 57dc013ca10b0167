import { createThrottle } from './throttle.ts';
import type { Applied } from '../consumer/applied.ts';
import type { KafkaRecord } from '../events/change.ts';

const nothing: Applied = { events: 0, rejected: 0, times: [] };
const records = Array.from({ length: 10 }, () => ({}) as KafkaRecord);
const context = (signal = new AbortController().signal) => {
  const counted = { progress: 0 };
  return { counted, signal, onProgress: () => (counted.progress += 1) };
};

describe('the throttle of a build', () => {
  it('applies at once without a demand', async () => {
    const throttle = createThrottle(() => 0);
    const { counted, ...one } = context();
    await throttle.run(records, one, async () => nothing);
    expect(counted.progress).toBe(0);
  });

  it('holds a paused worker back, counts it as in progress, and lets it go on', async () => {
    const throttle = createThrottle(() => performance.now());
    throttle.demand({ isPaused: true, yields: false });
    const { counted, ...one } = context();
    let isApplied = false;
    const running = throttle.run(records, one, async () => {
      isApplied = true;
      return nothing;
    });
    expect(isApplied).toBe(false);
    throttle.demand({ isPaused: false, yields: false });
    await running;
    expect(isApplied).toBe(true);
    expect(counted.progress).toBeGreaterThan(0);
  });

  it('ends the wait of a worker that loses its partition', async () => {
    const throttle = createThrottle(() => performance.now());
    throttle.demand({ isPaused: true, yields: false });
    const ending = new AbortController();
    const running = throttle.run(records, context(ending.signal), async () => nothing);
    ending.abort();
    await expect(running).rejects.toThrow();
  });

  it('ends the wait of a worker that is to stop, which keeps its partition until its batches have ended', async () => {
    const throttle = createThrottle(() => performance.now());
    throttle.demand({ isPaused: true, yields: false });
    const stopping = new AbortController();
    const running = throttle.run(records, { ...context(), stopping: stopping.signal }, async () => nothing);
    stopping.abort();
    await expect(running).rejects.toThrow();
  });

  it('keeps what is applied where the worker is to stop while it yields', async () => {
    let nowMs = 0;
    const throttle = createThrottle(() => nowMs);
    throttle.demand({ isPaused: false, yields: true });
    const stopping = new AbortController();
    const running = throttle.run(records, { ...context(), stopping: stopping.signal }, async () => {
      nowMs += 3_600_000;
      return nothing;
    });
    stopping.abort();
    expect(await running).toBe(nothing);
  });

  it('applies one batch at a time where that is asked, in the order in which they came', async () => {
    const throttle = createThrottle(() => performance.now());
    throttle.demand({ isPaused: false, yields: false, oneAtATime: true });
    const seen: string[] = [];
    const batch = (name: string) =>
      throttle.run(records, context(), async () => {
        seen.push(`${name} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(`${name} ends`);
        if (name === 'b') throw new Error('refused');
        return nothing;
      });
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map(batch));
    expect(seen).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('ends the wait for another batch of a worker that is to stop', async () => {
    const throttle = createThrottle(() => performance.now());
    throttle.demand({ isPaused: false, yields: false, oneAtATime: true });
    let end = () => {};
    const first = throttle.run(records, context(), async () => {
      await new Promise<void>((resolve) => (end = resolve));
      return nothing;
    });
    const stopping = new AbortController();
    const second = throttle.run(records, { ...context(), stopping: stopping.signal }, async () => nothing);
    stopping.abort();
    await expect(second).rejects.toThrow();
    end();
    expect(await first).toBe(nothing);
  });

  it('starts no batch of those that wait for another once it is paused', async () => {
    const throttle = createThrottle(() => performance.now());
    const together = { yields: false, oneAtATime: true };
    throttle.demand({ ...together, isPaused: false });
    let end = () => {};
    const first = throttle.run(records, context(), async () => {
      await new Promise<void>((resolve) => (end = resolve));
      return nothing;
    });
    await new Promise((resolve) => setImmediate(resolve));
    let isApplied = false;
    const second = throttle.run(records, context(), async () => {
      isApplied = true;
      return nothing;
    });
    throttle.demand({ ...together, isPaused: true });
    end();
    await first;
    await new Promise((resolve) => setImmediate(resolve));
    expect(isApplied).toBe(false);
    throttle.demand({ ...together, isPaused: false });
    await second;
  });

  it('lets no other batch work while one yields, where one works at a time', async () => {
    const throttle = createThrottle(() => performance.now());
    throttle.demand({ isPaused: false, yields: true, oneAtATime: true });
    const spans: { beganMs: number; endedMs: number }[] = [];
    const batch = () =>
      throttle.run(records, context(), async () => {
        const beganMs = performance.now();
        await new Promise((resolve) => setTimeout(resolve, 40));
        spans.push({ beganMs, endedMs: performance.now() });
        return nothing;
      });
    await Promise.all([batch(), batch()]);
    const [first, second] = spans;
    if (!first || !second) throw new Error('a batch was not applied');
    expect(second.beganMs - first.endedMs).toBeGreaterThanOrEqual((first.endedMs - first.beganMs) * 0.9);
  });

  it('starts each batch as late as the pace asks', async () => {
    const throttle = createThrottle(() => performance.now());
    throttle.demand({ isPaused: false, pace: 100, yields: false });
    const beganMs = performance.now();
    for (let batch = 0; batch < 3; batch += 1) await throttle.run(records, context(), async () => nothing);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(199);
  });
});
