import { type Db, MongoNetworkError } from 'mongodb';
import { emptyData, memoryStore } from '../../../tests/simulation/memory-store.ts';
import { engineDeps, recordOf } from '../../../tests/support/engine.ts';
import { created } from '../../../tests/support/entities.ts';
import { idle } from '../../../tests/support/idle.ts';
import type { Attempt } from '../hand-over.ts';
import type { Store } from '../materialize/store.ts';
import { createMetrics } from '../metrics.ts';
import { createApplier } from './apply.ts';

/** An applier of chunks that each change one tag, the groups that it applies, and a gate that each group waits for. */
function createTestApplier({ isOneAtATime = false, fails = (_: string[]): boolean => false } = {}) {
  const groups: string[][] = [];
  let gate = Promise.resolve();
  let applying = 0;
  let applyingMax = 0;
  const memory = memoryStore(emptyData());
  const readCurrent: Store['readCurrent'] = async (kind, ids) => {
    const group = ids.map((id) => id.replace('tag_', ''));
    groups.push(group);
    applying += 1;
    applyingMax = Math.max(applyingMax, applying);
    await gate;
    applying -= 1;
    if (fails(group)) throw new MongoNetworkError(`lost ${group.join()}`);
    const documents = await Promise.all(ids.map((id) => memory.readCurrent(kind, [id])));
    return { documents: documents.flatMap((read) => read.documents), unreadable: [], remaining: [] };
  };
  // Without rejected records and deletions, the applier never reads the control database.
  const control = undefined as unknown as Db;
  const shares = { left: async () => 0, add: () => undefined };
  const engine = engineDeps({ ...memory, readCurrent });
  const deps = { ...engine, control, shares, prefix: 'support.', generation: 1 };
  const applier = createApplier(deps, createMetrics());
  applier.setOneAtATime(isOneAtATime);
  const run = (name: string, count = 1, attempt: Partial<Attempt> = {}) => {
    const tag = created('tag', `tag_${name}`);
    const records = Array.from({ length: count }, (_, offset) => recordOf(tag, offset));
    const controlled = { signal: new AbortController().signal, onProgress: () => undefined, ...attempt };
    const nowMs = performance.now();
    const arrival = { fetchedMs: nowMs, nextMs: nowMs, takenMs: nowMs };
    return applier.apply({ topic: 'support.tags', records, arrival }, controlled);
  };
  /** Holds every group until the returned function is called. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return resolve;
  };
  const { setOneAtATime } = applier;
  return { run, setOneAtATime, groups, hold, applyingMax: () => applyingMax };
}

describe('the applier', () => {
  test('applies the small chunks that wait together', async () => {
    const { run, groups, hold } = createTestApplier();
    const release = hold();
    const runs = ['a', 'b', 'c'].map((name) => run(name));
    release();
    await Promise.all(runs);
    expect(groups).toEqual([['a'], ['b', 'c']]);
  });

  test('applies the next chunk of a partition together with the chunks that waited for the former group', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const { run, groups, hold } = createTestApplier();
    const release = hold();
    const next = run('a').then(() => run('c'));
    const secondRun = run('b');
    await jest.advanceTimersByTimeAsync(1_000);
    release();
    while (groups.length < 2) await jest.advanceTimersByTimeAsync(1);
    jest.useRealTimers();
    await Promise.all([next, secondRun]);
    expect(groups).toEqual([['a'], ['b', 'c']]);
  });

  test('applies a large chunk immediately, beside others', async () => {
    const { run, groups, hold } = createTestApplier();
    const release = hold();
    const runs = [run('a'), run('b', 1_000)];
    await idle();
    expect(groups).toEqual([['a'], ['b']]);
    release();
    await Promise.all(runs);
  });

  test('applies each chunk of a failed group separately, so only the faulty chunk fails', async () => {
    const { run, groups } = createTestApplier({ fails: (group) => group.includes('b') });
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((name) => run(name)));
    expect(groups).toEqual([['a'], ['b', 'c'], ['b'], ['c']]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  test('applies even large chunks one group at a time while a build loads', async () => {
    const { run, groups, hold } = createTestApplier({ isOneAtATime: true });
    const release = hold();
    const notified: boolean[] = [];
    const runs = ['a', 'b', 'c'].map((name) =>
      run(name, 1_000, { onOneAtATimeWait: (isWaiting) => notified.push(isWaiting) }),
    );
    await idle();
    expect(groups).toEqual([['a']]);
    release();
    await Promise.all(runs);
    expect(groups).toEqual([['a'], ['b'], ['c']]);
    expect(notified).toEqual([true, false, true, true, false, false]);
  });

  test('applies the chunks of a failed group one at a time while a build loads', async () => {
    const { run, applyingMax } = createTestApplier({
      isOneAtATime: true,
      fails: (group) => group.length > 1,
    });
    await Promise.all(['a', 'b', 'c'].map((name) => run(name)));
    expect(applyingMax()).toBe(1);
  });

  test('notifies the waiting chunks when it begins to apply one group at a time', async () => {
    const { run, setOneAtATime, hold } = createTestApplier();
    const release = hold();
    const notified: boolean[] = [];
    const runs = [run('a'), run('b', 1, { onOneAtATimeWait: (isWaiting) => void notified.push(isWaiting) })];
    setOneAtATime(true);
    release();
    await Promise.all(runs);
    expect(notified).toEqual([false, true, false]);
  });

  test('rejects a waiting chunk of a partition that stops', async () => {
    const { run, groups } = createTestApplier();
    const first = run('a');
    const stopping = new AbortController();
    const second = run('b', 1, { stopping: stopping.signal });
    stopping.abort();
    await expect(second).rejects.toThrow();
    await first;
    expect(groups).toEqual([['a']]);
  });
});
