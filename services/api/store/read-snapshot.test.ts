import { createLogger } from '../../../shared/runtime/logger.ts';
import { eventually } from '../../../tests/support/eventually.ts';
import { StoreUnavailable } from './store-errors.ts';
import { createReadSnapshots, type Databases } from './read-snapshot.ts';

/** A fake store and a clock; the tests control both. */
function createSnapshots() {
  const state = {
    nowMs: 0,
    generation: 1 as number | null,
    acceptOlder: false,
    watermarks: {} as Record<number, number>,
    missing: [] as string[],
    unavailable: false,
    hanging: null as Promise<void> | null,
    reads: 0,
  };
  const snapshots = createReadSnapshots({
    connect: async () => {
      state.reads += 1;
      await state.hanging;
      if (state.unavailable) throw new StoreUnavailable('unavailable');
    },
    activeGeneration: async () =>
      state.generation === null ? null : { generation: state.generation, acceptOlder: state.acceptOlder },
    watermark: async (generation) => {
      const second = state.watermarks[generation];
      return { completeTo: second === undefined ? null : new Date(second * 1_000), readAfter: null };
    },
    missingIndexes: async () => state.missing,
    databasesOf: () => ({}) as Databases,
    logger: createLogger('test', 'silent'),
    nowMs: () => state.nowMs,
  });
  const look = async () => {
    const { generation, dataAsOf } = await snapshots.current();
    return [generation, dataAsOf.getTime() / 1_000];
  };
  return { state, snapshots, look };
}

describe('the read snapshot', () => {
  it('has the watermark 1970 before any is stored, and is read again after one second', async () => {
    const { state, look } = createSnapshots();
    expect(await look()).toEqual([1, 0]);
    state.watermarks[1] = 7;
    state.nowMs = 999;
    expect(await look()).toEqual([1, 0]);
    state.nowMs = 1_000;
    expect(await look()).toEqual([1, 7]);
  });

  it('is read once for concurrent requests', async () => {
    const { state, look } = createSnapshots();
    await Promise.all([look(), look(), look()]);
    expect(state.reads).toBe(1);
  });

  it('never goes back within a generation', async () => {
    const { state, look } = createSnapshots();
    state.watermarks[1] = 7;
    await look();
    state.watermarks[1] = 5;
    state.nowMs = 1_000;
    expect(await look()).toEqual([1, 7]);
  });

  it('stays with the old generation until the new one has caught up', async () => {
    const { state, look, snapshots } = createSnapshots();
    state.watermarks = { 1: 10, 2: 8 };
    await look();
    state.generation = 2;
    state.nowMs = 1_000;
    expect(await look()).toEqual([1, 10]);
    state.watermarks[2] = 10;
    state.nowMs = 2_000;
    expect(await look()).toEqual([2, 10]);
    expect(snapshots.lastDataAsOf()).toEqual(new Date(10_000));
  });

  it('switches to a generation that is behind only where the operator has accepted that', async () => {
    const { state, look } = createSnapshots();
    state.watermarks = { 1: 10, 2: 8 };
    await look();
    state.generation = 2;
    state.nowMs = 3_600_000;
    expect(await look()).toEqual([1, 10]);
    state.acceptOlder = true;
    state.nowMs += 1_000;
    expect(await look()).toEqual([2, 8]);
  });

  it.each([
    ['no generation', (state: { generation: number | null }) => (state.generation = null), 'no generation'],
    [
      'missing indexes',
      (state: { missing: string[] }) => (state.missing = ['tickets.updated']),
      'tickets.updated',
    ],
  ])('fails with the reason where there is %s', async (_, spoil, reason) => {
    const { state, look } = createSnapshots();
    spoil(state);
    await expect(look()).rejects.toThrow(reason);
  });

  it('queries an unavailable store at most once a second, then recovers', async () => {
    const { state, snapshots, look } = createSnapshots();
    state.unavailable = true;
    for (let times = 0; times < 5; times += 1) await expect(look()).rejects.toThrow('unavailable');
    expect(state.reads).toBe(1);
    state.unavailable = false;
    state.nowMs = 1_000;
    await expect(look()).rejects.toThrow('unavailable');
    await eventually(() => snapshots.lastGeneration() === 1);
    expect(await look()).toEqual([1, 0]);
    expect(state.reads).toBe(2);
  });

  it('keeps no request waiting for a store that has failed and does not answer', async () => {
    const { state, look } = createSnapshots();
    await look();
    state.nowMs = 1_000;
    state.unavailable = true;
    await expect(look()).rejects.toThrow('unavailable');
    const { promise, resolve } = Promise.withResolvers<void>();
    state.hanging = promise;
    for (state.nowMs = 2_000; state.nowMs < 20_000; state.nowMs += 1_000)
      await expect(look()).rejects.toThrow('unavailable');
    expect(state.reads).toBe(3);
    resolve();
  });
});
