import { Timestamp } from 'mongodb';
import type { Manifest } from '../../../shared/control/manifest.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { createLogger, type Logger } from '../../../shared/runtime/logger.ts';
import type { IndexFault } from '../../../shared/store/structures.ts';
import { eventually } from '../../../tests/support/eventually.ts';
import { readTimeoutMs } from './deadline.ts';
import { createReadSnapshots, type Databases, type StoreTime } from './read-snapshot.ts';
import { StoreUnavailable } from './store-errors.ts';

const storeTime = (seconds: number): StoreTime => {
  const time = new Timestamp({ t: seconds, i: 1 });
  return { operationTime: time, clusterTime: { clusterTime: time } };
};

/** Collections that must exist. Without `log_gaps`, the API still answers. */
const listed = { control: { blocked_keys: 'a', log_gaps: 'b' }, documents: { tickets: 'b' } };
const complete = {
  controlCollections: new Map([['blocked_keys', 'a']]),
  collections: new Map([['tickets', 'b']]),
};

/** A fake store and a clock; the tests control both. */
function createSnapshots() {
  const manifests: { control: Manifest; documents: Manifest } = { control: {}, documents: {} };
  const state = {
    nowMs: 0,
    generation: 1 as number | null,
    acceptOlder: false,
    manifests,
    collections: new Map<string, string>(),
    controlCollections: new Map<string, string>(),
    watermarks: { 1: 0 } as Record<number, number>,
    missing: [] as IndexFault[],
    unavailable: false,
    takesMs: 0,
    hanging: null as Promise<void> | null,
    readAfter: null as StoreTime | null,
    reads: 0,
  };
  const logged: { awaited?: number }[] = [];
  const changes: object[] = [];
  const snapshots = createReadSnapshots({
    connect: async () => {
      state.reads += 1;
      await state.hanging;
      state.nowMs += state.takesMs;
      if (state.unavailable) throw new StoreUnavailable('unavailable');
    },
    activeGeneration: async () => {
      const { generation, acceptOlder } = state;
      return generation === null ? null : { generation, acceptOlder, manifests: state.manifests };
    },
    watermark: async (generation) => {
      const second = state.watermarks[generation];
      return {
        completeTo: second === undefined ? null : new Date(second * 1_000),
        readAfter: state.readAfter,
      };
    },
    controlCollections: async () => state.controlCollections,
    structures: async () => ({ collections: state.collections, faults: state.missing }),
    databasesOf: () => ({}) as Databases,
    logger: {
      ...createLogger('test', 'silent'),
      info: (entry: object) => void logged.push(entry),
      debug: ({ after }: { after: object }) => void changes.push(after),
    } as Logger,
    nowMs: () => state.nowMs,
  });
  const look = async () => {
    const { generation, dataAsOf } = await snapshots.current();
    return [generation, dataAsOf.getTime() / 1_000];
  };
  /** The generations that were not served yet when that was logged. */
  const waits = () => logged.flatMap(({ awaited }) => awaited ?? []);
  return { state, snapshots, look, waits, changes };
}

type State = ReturnType<typeof createSnapshots>['state'];
/** Changes before a look, and the generation that the look finds with its watermark, or the reason for a refusal. */
type Step = [changes: Partial<State>, found: [generation: number, seconds: number] | string];
const index = { kind: 'ticket', index: 'updated' } as const;
const missing: IndexFault[] = [{ ...index, fault: 'missing' }];

describe('the read snapshot', () => {
  test.each<[title: string, ...steps: Step[]]>([
    [
      'has the watermark 1970 during the first load, and is read again after one second',
      [{}, [1, 0]],
      [{ watermarks: { 1: 7 }, nowMs: 999 }, [1, 0]],
      [{ nowMs: 1_000 }, [1, 7]],
    ],
    [
      'never goes back within a generation',
      [{ watermarks: { 1: 7 } }, [1, 7]],
      [{ watermarks: { 1: 5 }, nowMs: 1_000 }, [1, 7]],
    ],
    [
      'stays with the old generation until the new one has caught up, or the operator accepts older data',
      [{ watermarks: { 1: 10, 2: 8 } }, [1, 10]],
      [{ generation: 2, nowMs: 3_600_000 }, [1, 10]],
      [{ watermarks: { 2: 10, 3: 8 }, nowMs: 3_601_000 }, [2, 10]],
      [{ generation: 3, acceptOlder: true, nowMs: 3_602_000 }, [3, 8]],
    ],
    [
      'stays with the old generation while the new one lacks indexes, even an accepted older one',
      [{ watermarks: { 1: 10, 2: 10 } }, [1, 10]],
      [{ generation: 2, acceptOlder: true, missing, nowMs: 1_000 }, [1, 10]],
      [{ missing: [], nowMs: 2_000 }, [2, 10]],
    ],
    [
      'fails while a collection is another one',
      [{ watermarks: { 1: 10 }, manifests: listed, ...complete }, [1, 10]],
      [
        { collections: new Map([['tickets', 'c']]), nowMs: 1_000 },
        'generation 1.tickets is another collection',
      ],
    ],
    [
      'fails while a collection is gone',
      [
        { watermarks: { 1: 10 }, manifests: listed, ...complete, collections: new Map() },
        '1.tickets is gone',
      ],
    ],
    [
      'fails while a collection of the control database is gone, also for a new generation',
      [{ watermarks: { 1: 10, 2: 10 }, manifests: listed, ...complete }, [1, 10]],
      [{ generation: 2, controlCollections: new Map(), nowMs: 1_000 }, 'control.blocked_keys is gone'],
    ],
    [
      'stays with the old generation while the new one has lost a collection',
      [{ watermarks: { 1: 10, 2: 10 }, manifests: listed, ...complete }, [1, 10]],
      [{ generation: 2, collections: new Map(), nowMs: 1_000 }, [1, 10]],
      [{ ...complete, nowMs: 2_000 }, [2, 10]],
    ],
    [
      'fails with the reason if its watermark is lost later',
      [{ watermarks: { 1: 7 } }, [1, 7]],
      [{ watermarks: {}, nowMs: 1_000 }, '1 has no watermark'],
    ],
    [
      'serves no other generation without a watermark',
      [{ watermarks: { 1: 7 } }, [1, 7]],
      [{ generation: 2, acceptOlder: true, nowMs: 1_000 }, '2 has no watermark'],
    ],
    [
      'fails with the reason if the served generation loses an index',
      [{ watermarks: { 1: 7 } }, [1, 7]],
      [{ missing: [{ ...index, fault: 'hidden' }], nowMs: 1_000 }, 'tickets.updated (hidden)'],
    ],
    ['fails with the reason if there is no watermark', [{ watermarks: {} }, '1 has no watermark']],
    ['fails with the reason if there is no generation', [{ generation: null }, 'no generation']],
    ['fails with the reason if there are missing indexes', [{ missing }, 'tickets.updated']],
  ])('%s', async (_, ...steps) => {
    const { state, look, snapshots } = createSnapshots();
    for (const [changes, expected] of steps) {
      Object.assign(state, changes);
      const found = await look().catch(errorMessage);
      expect(found).toEqual(typeof expected === 'string' ? expect.stringContaining(expected) : expected);
      if (typeof found !== 'string')
        expect(snapshots.lastDataAsOf().getTime()).toBe(Number(found[1]) * 1_000);
    }
  });

  test('logs at debug level when the registry names another generation, or accepts older data', async () => {
    const { state, look, changes } = createSnapshots();
    state.watermarks = { 1: 7, 2: 7 };
    await look();
    for (const registry of [{ generation: 2 }, {}, { acceptOlder: true }]) {
      Object.assign(state, registry, { nowMs: state.nowMs + 1_000 });
      await look();
    }
    expect(changes).toEqual([
      { generation: 1, acceptOlder: false },
      { generation: 2, acceptOlder: false },
      { generation: 2, acceptOlder: true },
    ]);
  });

  test('is read once for concurrent requests', async () => {
    const { state, look } = createSnapshots();
    await Promise.all([look(), look(), look()]);
    expect(state.reads).toBe(1);
  });

  test('logs once why a switch waits, and again for the next switch', async () => {
    const { state, look, waits } = createSnapshots();
    state.watermarks = { 1: 10, 2: 8, 3: 8 };
    await look();
    for (const generation of [2, 2, 1, 2, 3]) {
      Object.assign(state, { generation, nowMs: state.nowMs + 1_000 });
      await look();
    }
    expect(waits()).toEqual([2, 2, 3]);
  });

  test('has the time of its own watermark', async () => {
    const { state, snapshots } = createSnapshots();
    state.watermarks = { 1: 0, 2: 0 };
    for (const [generation, seconds] of [
      [1, 5],
      [1, 6],
      [2, 7],
    ] as const) {
      state.readAfter = storeTime(seconds);
      Object.assign(state, { generation, nowMs: state.nowMs + 1_000 });
      expect((await snapshots.current()).readAfter).toEqual(storeTime(seconds));
    }
  });

  test('fails after the time limit of a read if the store hangs', async () => {
    const { state, look } = createSnapshots();
    state.hanging = new Promise(() => undefined);
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
    const refused = expect(look()).rejects.toThrow(StoreUnavailable);
    await jest.advanceTimersByTimeAsync(readTimeoutMs);
    jest.useRealTimers();
    await refused;
  });

  test('queries an unavailable store at most once a second and recovers', async () => {
    const { state, snapshots, look } = createSnapshots();
    Object.assign(state, { unavailable: true, takesMs: 5_000 });
    for (let times = 0; times < 5; times += 1) await expect(look()).rejects.toThrow('unavailable');
    expect(state.reads).toBe(1);
    Object.assign(state, { unavailable: false, takesMs: 0, nowMs: 6_000 });
    await expect(look()).rejects.toThrow('unavailable');
    await eventually(() => snapshots.lastGeneration() === 1);
    expect(await look()).toEqual([1, 0]);
    expect(state.reads).toBe(2);
  });

  test('does not delay requests for a store that has failed and does not answer', async () => {
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
