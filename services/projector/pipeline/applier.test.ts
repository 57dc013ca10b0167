import type { Applied, Watch } from '../hand-over.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { createApplier } from './applier.ts';
import type { RecordBatch } from './apply-records.ts';

const nothing: Applied = { events: 0, rejected: [], times: [] };

/** An applier, the sets that it applies, and a gate that each set waits for. */
function given({ isOneAtATime = false, fails = (_: string[]): boolean => false } = {}) {
  const sets: string[][] = [];
  const names = new Map<RecordBatch, string>();
  let gate = Promise.resolve();
  let [applying, applyingMax] = [0, 0];
  const apply = async (batches: RecordBatch[]) => {
    const set = batches.map((batch) => names.get(batch) ?? '');
    sets.push(set);
    applyingMax = Math.max(applyingMax, (applying += 1));
    await gate;
    applying -= 1;
    if (fails(set)) throw new Error(`refused ${set.join()}`);
    return batches.map(() => async () => nothing);
  };
  const applier = createApplier(apply);
  applier.set(isOneAtATime);
  const run = (name: string, count = 1, watch: Partial<Watch> = {}) => {
    const records = Array.from({ length: count }, () => ({}) as KafkaRecord);
    const own = { signal: new AbortController().signal, onProgress: () => undefined, ...watch };
    const batch: RecordBatch = { kind: 'tag', records, watch: own };
    names.set(batch, name);
    return applier.run(batch);
  };
  /** Holds every set until the returned function is called. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return resolve;
  };
  return { run, set: applier.set, sets, hold, applyingMax: () => applyingMax };
}

describe('the applier', () => {
  it('applies the small batches that wait together', async () => {
    const { run, sets, hold } = given();
    const release = hold();
    const runs = ['a', 'b', 'c'].map((name) => run(name));
    release();
    await Promise.all(runs);
    expect(sets).toEqual([['a'], ['b', 'c']]);
  });

  it('applies a large batch at once, beside others', async () => {
    const { run, sets, hold } = given();
    const release = hold();
    const runs = [run('a'), run('b', 1_000)];
    expect(sets).toEqual([['a'], ['b']]);
    release();
    await Promise.all(runs);
  });

  it('applies each batch of a set that fails by itself, so that one fails alone', async () => {
    const { run, sets } = given({ fails: (set) => set.includes('b') });
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((name) => run(name)));
    expect(sets).toEqual([['a'], ['b', 'c'], ['b'], ['c']]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('applies one set at a time, also of large batches, while a build loads', async () => {
    const { run, sets, hold } = given({ isOneAtATime: true });
    const release = hold();
    const queued: boolean[] = [];
    const runs = ['a', 'b', 'c'].map((name) => run(name, 1_000, { onQueued: (is) => queued.push(is) }));
    expect(sets).toEqual([['a']]);
    release();
    await Promise.all(runs);
    expect(sets).toEqual([['a'], ['b'], ['c']]);
    expect(queued).toEqual([true, false, true, true, false, false]);
  });

  it('applies one at a time, too, the batches of a set that fails then', async () => {
    const { run, applyingMax } = given({ isOneAtATime: true, fails: (set) => set.length > 1 });
    await Promise.all(['a', 'b', 'c'].map((name) => run(name)));
    expect(applyingMax()).toBe(1);
  });

  it('tells the batches that wait when it begins to apply one at a time', async () => {
    const { run, set, hold } = given();
    const release = hold();
    const told: boolean[] = [];
    const runs = [run('a'), run('b', 1, { onQueued: (isQueued) => void told.push(isQueued) })];
    set(true);
    release();
    await Promise.all(runs);
    expect(told).toEqual([false, true, false]);
  });

  it('applies no batch of a worker that is to stop', async () => {
    const { run, sets } = given();
    const first = run('a');
    const stopping = new AbortController();
    const second = run('b', 1, { stopping: stopping.signal });
    stopping.abort();
    await expect(second).rejects.toThrow();
    await first;
    expect(sets).toEqual([['a']]);
  });
});
