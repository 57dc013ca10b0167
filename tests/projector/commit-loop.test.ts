import { type CommandStartedEvent, type Db } from 'mongodb';
import { pino } from 'pino';
import { createMetrics } from '../../services/projector/metrics.ts';
import type { AssignedPartitions } from '../../services/projector/partition/assigned-partitions.ts';
import type { Snapshot } from '../../services/projector/partition/snapshot.ts';
import { startCommitLoop } from '../../services/projector/progress/commit-loop.ts';
import { createLiveness } from '../../services/projector/progress/liveness.ts';
import { createRefusalLimit } from '../../services/projector/refusal-limit.ts';
import { ensureControlIndexes } from '../../services/projector/startup/open-store.ts';
import { progressOf, readWatermark } from '../../shared/control/progress.ts';
import type { LogClient } from '../../shared/kafka/log-client.ts';
import { openDatabases } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { anyOrder } from '../support/order.ts';
import { snapshot } from '../support/snapshot.ts';
import { useOpened } from '../support/use-opened.ts';

const generation = 1;
const allowanceMs = 1_000;
/** The loop runs no more by itself within a test: the tests call `flush`. */
const neverMs = 3_600_000;

describe('a run of the commit loop', () => {
  afterEach(() => commitLoop.stop());
  // Jest runs hooks in the order of their definition: the loop stops before its database is dropped.
  const opened = useOpened(openDatabases, { each: true });
  let control: Db;
  let commitLoop: ReturnType<typeof startCommitLoop>;
  let start: (intervalMs: number, onObserved?: () => void) => typeof commitLoop;
  const initialState = () => ({
    /** The store's clock. */
    nowMs: 50_000,
    ends: new Map([['t/0', 0]]),
    partitions: [] as Snapshot[],
    /** Partitions that have no leader, and brokers that do not answer. */
    withoutEnd: [] as string[],
    unreachable: [] as { broker: string; error: unknown }[],
    metrics: createMetrics(),
    ...anyOrder(),
    /** Hooks: while the end offsets are read, after the snapshot, and at the commit. */
    whileEndsAreRead: (): unknown => undefined,
    onSnapshot: (): unknown => undefined,
    onCommit: async (_snapshot: Snapshot[]): Promise<void> => undefined,
  });
  let state: ReturnType<typeof initialState>;

  beforeEach(async () => {
    ({ control } = opened);
    await ensureControlIndexes(control);
    state = initialState();
    const log: Pick<LogClient, 'read'> = {
      read: async () => {
        const read = new Map([...state.ends].map(([key, end]) => [key, { low: 0, end, stable: end }]));
        state.whileEndsAreRead();
        const partitions = [...read.keys(), ...state.withoutEnd];
        const { unreachable } = state;
        return { partitions, ends: read, leaderEpochs: new Map(), topicIds: new Map(), unreachable };
      },
    };
    const consuming: AssignedPartitions = {
      onApplied: () => undefined,
      snapshot: () => {
        const taken = state.partitions.map((partition) => ({ ...partition }));
        state.onSnapshot();
        return taken;
      },
      detectGaps: async () => undefined,
      commit: (committed) => state.onCommit(committed),
    };
    const startedAt = new Date(0);
    const clock = { read: async () => new Date(state.nowMs) };
    const deps = { control, log, generation, allowanceMs, startedAt, topics: ['t'], clock };
    start = (intervalMs, onObserved = () => undefined) => {
      const { metrics, positions } = state;
      const observers = {
        metrics,
        positions,
        nowMs: () => performance.now(),
        liveness: { ...createLiveness(0), observe: onObserved },
        processId: 'p',
        kafkaMonitor: { track: <T>(reading: Promise<T>) => reading },
        refusalLimit: createRefusalLimit(() => 0),
        onFatal: () => undefined,
        logger: pino({ level: 'silent' }),
      };
      return startCommitLoop({ ...deps, ...observers }, consuming, intervalMs);
    };
    // Waits for the end of the loop's own first run, which must not overlap with the run that a test starts.
    await new Promise<void>((resolve) => {
      commitLoop = start(neverMs, resolve);
    });
  });

  const snapshotAt = (partition: number, position: number | null) => snapshot({ partition, position });
  /** Assigns the projector one partition that is applied up to a position. */
  const setPartition = (end: number, position = end) => {
    state.ends.set('t/0', end);
    state.partitions = [snapshotAt(0, position)];
  };
  /** The snapshots that the loop commits from now on. */
  const recordCommits = () => {
    const commits: Snapshot[][] = [];
    state.onCommit = async (committed) => {
      commits.push(committed);
    };
    return commits;
  };
  const savedProgress = async (partition = 0) => {
    const stored = await progressOf(control).findOne({ topic: 't', partition });
    return { position: stored?.applied.position, completeToMs: stored?.completeTo.getTime() };
  };

  test('is complete only up to the request for the end offsets', async () => {
    setPartition(3);
    // Another record may be published before the response arrives.
    state.whileEndsAreRead = () => {
      state.nowMs += 10_000;
    };
    await commitLoop.flush();
    expect(await savedProgress()).toEqual({ position: 3, completeToMs: 50_000 - allowanceMs });
  });

  test('commits only the snapshot that it has saved', async () => {
    setPartition(9, 3);
    const commits: [number | null | undefined, number | undefined][] = [];
    // The projector applies more records after the snapshot.
    state.onSnapshot = () => {
      state.partitions = [snapshotAt(0, 7)];
    };
    state.onCommit = async (committed) => {
      commits.push([committed[0]?.position, (await savedProgress()).position]);
    };
    await commitLoop.flush();
    expect(commits).toEqual([[3, 3]]);
  });

  test('commits nothing if saving progress fails', async () => {
    const commits = recordCommits();
    // The unique index rejects one of two updates.
    await control.collection('progress').createIndex({ 'applied.position': 1 }, { unique: true });
    state.ends.set('t/0', 3).set('t/1', 3);
    state.partitions = [snapshotAt(0, 3), snapshotAt(1, 3)];
    await expect(commitLoop.flush()).rejects.toThrow();
    expect(commits).toEqual([]);
  });

  test.each<[string, () => Promise<void>]>([
    ['fails', () => Promise.reject(new Error('the coordinator is away'))],
    ['hangs', () => new Promise<void>(() => undefined)],
  ])('saves progress, raises the watermark and reports the lag while every commit %s', async (_, commit) => {
    state.onCommit = commit;
    setPartition(3);
    const running = start(5);
    const isWatermark = async (completeToMs: number) =>
      (await readWatermark(control, generation))?.getTime() === completeToMs;
    await eventually(() => isWatermark(50_000 - allowanceMs));
    // Later runs do the same.
    state.nowMs = 60_000;
    setPartition(9, 7);
    await eventually(async () => (await savedProgress()).position === 7);
    await eventually(async () => (await state.metrics.lag.get()).values[0]?.value === 2);
    setPartition(9);
    await eventually(() => isWatermark(60_000 - allowanceMs));
    await running.stop();
  });

  test('commits again in the next run after a failed commit', async () => {
    const commits: number[] = [];
    state.onCommit = async ([committed]) => {
      commits.push(committed?.position ?? 0);
      if (commits.length === 1) throw new Error('the group is rebalancing');
    };
    state.partitions = [snapshotAt(0, 3)];
    const running = start(5);
    await eventually(() => commits.length >= 2);
    expect(commits.slice(0, 2)).toEqual([3, 3]);
    await running.stop();
  });

  test('a flush waits for the commit in progress, which could otherwise set back a later commit', async () => {
    const firstCommit = Promise.withResolvers<void>();
    let commits = 0;
    state.onCommit = async () => {
      commits += 1;
      if (commits === 1) await firstCommit.promise;
    };
    const running = start(5);
    await eventually(() => commits === 1);
    await running.stop();
    let isFlushed = false;
    const flushed = running.flush().then(() => {
      isFlushed = true;
    });
    // Three flushes of another loop last long enough for the end of a flush that does not wait.
    for (let flush = 0; flush < 3; flush += 1) await commitLoop.flush();
    expect(isFlushed).toBe(false);
    firstCommit.resolve();
    await flushed;
  });

  test('saves and commits other partitions while one has no leader', async () => {
    state.withoutEnd = ['t/1'];
    setPartition(3);
    const commits = recordCommits();
    await commitLoop.flush();
    expect(await savedProgress()).toEqual({ position: 3, completeToMs: 50_000 - allowanceMs });
    expect(commits).toEqual([state.partitions]);
    expect(await readWatermark(control, generation)).toEqual(new Date(0));
  });

  test('saves only positions while a broker with further partitions may be unreachable', async () => {
    state.unreachable = [{ broker: 'b:9092', error: new Error('no answer') }];
    setPartition(3);
    await commitLoop.flush();
    expect(await savedProgress()).toEqual({ position: 3, completeToMs: 0 });
    state.unreachable = [];
    await commitLoop.flush();
    expect(await savedProgress()).toEqual({ position: 3, completeToMs: 50_000 - allowanceMs });
  });

  test('reads the positions of the partitions of another projector', async () => {
    setPartition(3);
    state.ends.set('t/1', 5);
    // This projector has no start offset for the partition yet, so the progress stays as the other projector saved it.
    state.partitions.push(snapshotAt(1, null));
    await commitLoop.flush();
    const saved = { applied: { position: 4 }, updatedAt: new Date(55_000) };
    await progressOf(control).updateOne({ partition: 1 }, { $set: saved });
    await commitLoop.flush();
    expect([3, 4].map((offset) => state.positions.isApplied('t/1', offset))).toEqual([true, false]);
    expect(await progressOf(control).findOne({ partition: 1 })).toMatchObject(saved);
  });

  describe('without new records', () => {
    const count = 33;
    beforeEach(async () => {
      state.ends = new Map(Array.from({ length: count }, (_, partition) => [`t/${partition}`, 5]));
      state.partitions = Array.from({ length: count }, (_, partition) => snapshotAt(partition, 5));
      await commitLoop.flush();
    });

    test('sends MongoDB three commands for 33 partitions', async () => {
      const commands: string[] = [];
      const record = ({ commandName }: CommandStartedEvent) => commands.push(commandName);
      opened.mongo.on('commandStarted', record);
      // Within the interval of the last sample.
      state.nowMs = 59_000;
      await commitLoop.flush();
      expect(commands).toEqual(['update', 'find', 'findAndModify']);
      const outdated = { completeTo: { $ne: new Date(59_000 - allowanceMs) } };
      expect(await progressOf(control).countDocuments(outdated)).toBe(0);
      expect(commitLoop.watermarkMs()).toBe(59_000 - allowanceMs);
    });

    test('saves deleted progress of a partition again', async () => {
      await progressOf(control).deleteOne({ partition: 7 });
      await commitLoop.flush();
      state.nowMs = 60_000;
      await commitLoop.flush();
      expect(await savedProgress(7)).toEqual({ position: 5, completeToMs: 60_000 - allowanceMs });
    });
  });
});
