import type { Db } from 'mongodb';
import { followRegistry } from '../../services/projector/generations/follow.ts';
import { createMetrics, type Metrics } from '../../services/projector/metrics.ts';
import { createPositions } from '../../services/projector/partition/positions.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { createLogOutput } from '../../shared/runtime/log-output.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { eventually } from '../support/eventually.ts';
import { generation, present, secondsBefore, useRebuild } from './fixture.ts';

const rebuild = useRebuild();

describe('a projector that follows the registry', () => {
  /** Runs `use` while a projector of generation 2 follows the registry. Returns the lines that it has logged. */
  const following = async (
    use: (
      isOneAtATime: () => boolean | undefined,
      fatal: Error[],
      metrics: Metrics,
      logged: { msg: string; after?: object }[],
    ) => Promise<void>,
    { control = rebuild.control, ...times }: { control?: Db; stalledAfterMs?: number } = {},
  ) => {
    let isOneAtATime: boolean | undefined;
    const fatal: Error[] = [];
    const metrics = createMetrics();
    const logged: { msg: string; after?: object }[] = [];
    const write = (line: string) => logged.push(JSON.parse(line) as (typeof logged)[number]);
    const applier = {
      setOneAtATime: (value: boolean) => {
        isOneAtATime = value;
      },
    };
    const { stop } = followRegistry(
      {
        control,
        generation: 2,
        allowanceMs: 5_000,
        by: 'projector',
        applier,
        positions: createPositions(() => 0),
        metrics,
        logger: createLogger('projector', 'debug', { ...createLogOutput(), write }),
        now: () => present,
        onFatal: (error) => fatal.push(error),
      },
      { intervalMs: 10, ...times },
    );
    await use(() => isOneAtATime, fatal, metrics, logged).finally(stop);
    return logged;
  };

  test('ends when its generation is dropped', async () => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'dropping')]);
    await following(async (_, fatal) => {
      await eventually(() => fatal.length > 0);
      expect(fatal[0]?.message).toMatch(/^generation 2 is being dropped.*; this projector ends$/);
    });
  });

  /** A control database whose first read of the registry returns `first`, and the number of reads. */
  const firstReading = (first: Promise<unknown>) => {
    const { control } = rebuild;
    const reads = { count: 0 };
    const collectionOnce = (name: string) => {
      const collection = control.collection(name);
      if (name !== 'generations') return collection;
      reads.count += 1;
      if (reads.count > 1) return collection;
      return Object.create(collection, { findOne: { value: () => first } }) as never;
    };
    const hanging = Object.create(control, { collection: { value: collectionOnce } }) as Db;
    return { reads, times: { control: hanging, stalledAfterMs: 200 } };
  };

  test('reads the registry again if a read does not end', async () => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'dropping')]);
    const { reads, times } = firstReading(new Promise(() => undefined));
    await following(async (_, fatal) => {
      await eventually(() => fatal.length > 0);
      expect(reads.count).toBeGreaterThan(1);
    }, times);
  });

  test('ignores a read of the registry that ends after a newer read', async () => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'building')]);
    const outdatedRegistry = await rebuild.registry();
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'ready')]);
    const first = Promise.withResolvers<unknown>();
    const { reads, times } = firstReading(first.promise);
    const logged = await following(async (isOneAtATime) => {
      await eventually(() => isOneAtATime() === false);
      first.resolve(outdatedRegistry);
      const { count } = reads;
      await eventually(() => reads.count > count + 2);
    }, times);
    const applied = logged.flatMap(({ msg, after }) => (msg === 'registry' ? [after] : []));
    expect(applied).toEqual([{ ownGeneration: 'ready', active: 1, oneAtATime: false }]);
  });

  /** A build that lacks one of five records, and whose watermark lags by 8 hours, 3 hours after its start. */
  const storeBuild = async () => {
    const [topic = ''] = rebuild.topics;
    const loadTo = [{ topic, partition: 0, low: 0, end: 5 }];
    const startedAt = secondsBefore(3 * 3_600);
    await rebuild.storeGenerations([
      generation(1, 'active'),
      generation(2, 'building', { loadTo, startedAt }),
    ]);
    await rebuild.setWatermark(2, secondsBefore(8 * 3_600));
    const setPosition = (position: number) =>
      progressOf(rebuild.control).updateOne(
        { _id: `2/${topic}/0` },
        { $set: { 'applied.position': position } },
      );
    await setPosition(4);
    return { loadLast: () => setPosition(5), catchUp: () => rebuild.setWatermark(2, secondsBefore(15)) };
  };
  const isState = async (state: string) => (await rebuild.states())[2] === state;
  const stepsOf = (logged: { msg: string; after?: object }[], msg: string) =>
    logged.flatMap((line) => (line.msg === msg ? [line.after] : []));

  test('loads a build one chunk at a time while projectors of the active generation run', async () => {
    await storeBuild();
    const logged = await following(async (isOneAtATime) => {
      await eventually(() => isOneAtATime() === true);
      // The active generation has no projectors here, so a slower build would not help it.
      await progressOf(rebuild.control).updateMany(
        { generation: 1 },
        { $set: { updatedAt: secondsBefore(31) } },
      );
      await eventually(() => isOneAtATime() === false);
      // One partition that is saved shows that a projector runs.
      await progressOf(rebuild.control).updateOne({ generation: 1 }, { $set: { updatedAt: present } });
      await eventually(() => isOneAtATime() === true);
      expect(await isState('building')).toBe(true);
    });
    expect(stepsOf(logged, 'registry')).toEqual([
      { ownGeneration: 'building', active: 1, oneAtATime: true },
      { ownGeneration: 'building', active: 1, oneAtATime: false },
      { ownGeneration: 'building', active: 1, oneAtATime: true },
    ]);
  });

  test('advances a build from loading to ready, and logs each step once', async () => {
    const build = await storeBuild();
    const logged = await following(async (isOneAtATime, _fatal, _metrics, lines) => {
      const hasLogged = (field: string) => lines.some(({ after }) => after && field in after);
      // The projector counts the records after it has set the pace, so the pace alone does not show that step.
      await eventually(() => isOneAtATime() === true && hasLogged('recordsToLoad'));
      await build.loadLast();
      await eventually(() => isState('catching-up'));
      await eventually(() => hasLogged('lagSeconds'));
      await build.catchUp();
      // The projector notices its own change of the registry at its next read.
      await eventually(() => stepsOf(lines, 'registry').length === 3);
    });
    expect(stepsOf(logged, 'build')).toEqual([
      { recordsToLoad: 1 },
      { recordsToLoad: 0 },
      { lagSeconds: 8 * 3_600 - 5 },
      { lagSeconds: 10 },
    ]);
    expect(stepsOf(logged, 'registry')).toEqual([
      { ownGeneration: 'building', active: 1, oneAtATime: true },
      { ownGeneration: 'catching-up', active: 1, oneAtATime: false },
      { ownGeneration: 'ready', active: 1, oneAtATime: false },
    ]);
  });

  test('shows in a metric whether its generation is a build', async () => {
    const build = await storeBuild();
    await following(async (_isOneAtATime, _fatal, { generationState }) => {
      const shown = async () => (await generationState.get()).values.map(({ labels }) => labels.state).join();
      await eventually(async () => (await shown()) === 'building');
      await build.loadLast();
      await build.catchUp();
      await eventually(async () => (await shown()).endsWith('ready'));
      expect(await shown()).toBe('ready');
    });
  });

  test('stores the longest lag of a build since its start', async () => {
    const build = await storeBuild();
    await build.loadLast();
    await following(async () => {
      await eventually(() => isState('catching-up'));
      await eventually(
        async () => (await rebuild.registry()).generations[1]?.longestBehindSeconds !== undefined,
      );
      await build.catchUp();
      await eventually(() => isState('ready'));
    });
    expect((await rebuild.registry()).generations[1]?.longestBehindSeconds).toBe(3 * 3_600);
  });
});
