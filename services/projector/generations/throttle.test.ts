import { createThrottle } from './throttle.ts';
import type { Applied } from '../consumer/partition-worker.ts';

const nothing: Applied = { events: 0, rejected: [], times: [] };
const context = () => ({ signal: new AbortController().signal, onProgress: () => undefined });
/** A batch that ends when `end` is called. */
const openBatch = () => {
  let end = () => {};
  const ended = new Promise<Applied>((resolve) => (end = () => resolve(nothing)));
  return { apply: () => ended, end };
};
const immediately = () => new Promise((resolve) => setImmediate(resolve));

describe('the throttle', () => {
  it('applies one batch at a time, in the order in which they came, also after one that failed', async () => {
    const throttle = createThrottle();
    throttle.set(true);
    const seen: string[] = [];
    const batch = (name: string) =>
      throttle.run(context(), async () => {
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
    const throttle = createThrottle();
    throttle.set(true);
    const { apply, end } = openBatch();
    const first = throttle.run(context(), apply);
    const stopping = new AbortController();
    const second = throttle.run({ ...context(), stopping: stopping.signal }, async () => nothing);
    stopping.abort();
    await expect(second).rejects.toThrow();
    end();
    expect(await first).toBe(nothing);
  });
});
