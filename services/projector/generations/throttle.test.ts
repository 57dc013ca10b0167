import { createThrottle } from './throttle.ts';
import type { Applied } from '../consumer/applied.ts';
import type { KafkaRecord } from '../events/change.ts';

const nothing: Applied = { events: 0, rejected: 0, times: [], appliedToMs: null };
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

  it('starts each batch as late as the pace asks', async () => {
    const throttle = createThrottle(() => performance.now());
    throttle.demand({ isPaused: false, pace: 100, yields: false });
    const beganMs = performance.now();
    for (let batch = 0; batch < 3; batch += 1) await throttle.run(records, context(), async () => nothing);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(199);
  });
});
