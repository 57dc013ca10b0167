import type { Db } from 'mongodb';
import { pino } from 'pino';
import { followRegistry, recordAbsence } from '../../services/projector/generations/follow.ts';
import { createMetrics, type Metrics } from '../../services/projector/metrics.ts';
import { createPositions } from '../../services/projector/partition/positions.ts';
import { readLogGaps } from '../../shared/control/log-gaps.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { changeRegistry, recordStart } from '../../shared/control/registry.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { createLogOutput } from '../../shared/runtime/log-output.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { logEnds } from '../support/progress.ts';
import { publish, runProjector } from '../support/test-environment.ts';
import { generation, longAgo, present, secondsBefore, useRebuild } from './fixture.ts';

const rebuild = useRebuild();

describe('a projector that follows the registry', () => {
  /** Runs `use` while the registry is followed as generation 2. Returns the last settings, and errors. */
  const following = async (
    use: (
      isOneAtATime: () => boolean | undefined,
      fatal: Error[],
      metrics: Metrics,
      logged: { msg: string; after?: object }[],
    ) => Promise<void>,
    { control = rebuild.control, ...times }: { control?: Db; stalledAfterMs?: number } = {},
  ) => {
    let last: boolean | undefined;
    const fatal: Error[] = [];
    const metrics = createMetrics();
    const logged: { msg: string; after?: object }[] = [];
    const write = (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[number]);
    const applier = { applyOneAtATime: (isOneAtATime: boolean) => void (last = isOneAtATime) };
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
    await use(() => last, fatal, metrics, logged).finally(stop);
    return logged;
  };

  test('exits when its generation is dropped', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'dropping')]);
    await following(async (_, fatal) => {
      await eventually(() => fatal.length > 0);
      expect(fatal[0]?.message).toMatch(/^generation 2 is being dropped.*; this projector ends$/);
    });
  });

  /** A control database whose first read of the registry has this result, and the number of its reads. */
  const firstReading = (first: Promise<unknown>) => {
    const { control } = rebuild;
    const reads = { count: 0 };
    const collectionOnce = (name: string) => {
      const collection = control.collection(name);
      if (name !== 'generations' || (reads.count += 1) > 1) return collection;
      return Object.create(collection, { findOne: { value: () => first } }) as never;
    };
    const hanging = Object.create(control, { collection: { value: collectionOnce } }) as Db;
    return { reads, times: { control: hanging, stalledAfterMs: 200 } };
  };

  test('reads it again if a read does not end', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'dropping')]);
    const { reads, times } = firstReading(new Promise(() => undefined));
    await following(async (_, fatal) => {
      await eventually(() => fatal.length > 0);
      expect(reads.count).toBeGreaterThan(1);
    }, times);
  });

  test('applies nothing of a read that ends after a newer one', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'building')]);
    const old = await rebuild.registry();
    await rebuild.given([generation(1, 'active'), generation(2, 'ready')]);
    const first = Promise.withResolvers<unknown>();
    const { reads, times } = firstReading(first.promise);
    const logged = await following(async (isOneAtATime) => {
      await eventually(() => isOneAtATime() === false);
      first.resolve(old);
      const { count } = reads;
      await eventually(() => reads.count > count + 2);
    }, times);
    const applied = logged.flatMap(({ msg, after }) => (msg === 'registry' ? [after] : []));
    expect(applied).toEqual([{ own: 'ready', active: 1, oneAtATime: false }]);
  });

  test('advances a build once it is loaded and once it has caught up, and loads one chunk at a time', async () => {
    const [topic = ''] = rebuild.topics;
    const loadTo = [{ topic, partition: 0, low: 0, end: 5 }];
    const registeredAt = secondsBefore(3 * 3_600);
    await rebuild.given([generation(1, 'active'), generation(2, 'building', { loadTo, registeredAt })]);
    const set = (fields: object) =>
      progressOf(rebuild.control).updateOne({ _id: `2/${topic}/0` }, { $set: fields });
    const isState = async (state: string) => (await rebuild.states())[2] === state;
    await rebuild.setWatermark(2, secondsBefore(8 * 3_600));
    const activeSavedAt = (updatedAt: Date) =>
      progressOf(rebuild.control).updateMany({ generation: 1 }, { $set: { updatedAt } });
    await set({ 'applied.position': 4 });
    const logged = await following(async (isOneAtATime, _, { generationState }, lines) => {
      await eventually(() => isOneAtATime() === true);
      // Without projectors the active generation gains nothing from a slower build.
      await activeSavedAt(secondsBefore(31));
      await eventually(() => isOneAtATime() === false);
      // One partition that is saved shows that a projector runs.
      await progressOf(rebuild.control).updateOne({ generation: 1 }, { $set: { updatedAt: present } });
      await eventually(() => isOneAtATime() === true);
      expect(await isState('building')).toBe(true);
      await set({ 'applied.position': 5 });
      await eventually(() => isState('catching-up'));
      await eventually(() => lines.some(({ after }) => after && 'lagSeconds' in after));
      await rebuild.setWatermark(2, secondsBefore(15));
      await eventually(() => isState('ready'));
      expect(isOneAtATime()).toBe(false);
      // The alerts decide by this metric whether a generation is a build.
      const shown = async () => (await generationState.get()).values.map(({ labels }) => labels.state).join();
      await eventually(async () => (await shown()).endsWith('ready'));
      expect(await shown()).toBe('ready');
    });
    // and each step is logged once
    const steps = (msg: string) => logged.flatMap((line) => (line.msg === msg ? [line.after] : []));
    expect(steps('build')).toEqual([
      { recordsToLoad: 1 },
      { recordsToLoad: 0 },
      { lagSeconds: 8 * 3_600 - 5 },
      { lagSeconds: 10 },
    ]);
    expect(steps('registry')).toEqual([
      { own: 'building', active: 1, oneAtATime: true },
      { own: 'building', active: 1, oneAtATime: false },
      { own: 'building', active: 1, oneAtATime: true },
      { own: 'catching-up', active: 1, oneAtATime: false },
      { own: 'ready', active: 1, oneAtATime: false },
    ]);
    // and its longest lag is recorded, for the check of tombstones: it had none before its registration
    expect((await rebuild.registry()).generations[1]?.longestBehindSeconds).toBe(3 * 3_600);
  });
});

/** Runs a projector while `use` runs, with the errors that it has logged. */
async function withProjector(
  settings: object,
  use: (projector: Awaited<ReturnType<typeof runProjector>>, errors: string[]) => Promise<void>,
): Promise<void> {
  const errors: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line: string) => void errors.push(line) });
  const config = { ...rebuild.config, ...settings };
  const projector = await runProjector({ ...rebuild, config }, { logger });
  await use(projector, errors).finally(projector.stop);
}

test('a build loads the log up to its end at the start, and then applies the later records', async () => {
  // given a build of a log that begins with one tag and one user, of which the user is still to come
  const tags = topicOf('tag', rebuild.config.TOPIC_PREFIX);
  const users = topicOf('user', rebuild.config.TOPIC_PREFIX);
  const ends = await logEnds(rebuild.admin, rebuild.topics);
  const endOf = (topic: string) => ends.get(`${topic}/0`) ?? 0;
  const loadTo = rebuild.topics.map((topic) => ({
    topic,
    partition: 0,
    low: 0,
    end: endOf(topic) + (topic === tags || topic === users ? 1 : 0),
  }));
  await rebuild.given([generation(1, 'active'), generation(2, 'building', { loadTo })]);
  await rebuild.forgetProgress();
  await publish(rebuild, [created('tag', 'tag_before')]);
  await withProjector({ GENERATION: 2 }, async (projector) => {
    const database = rebuild.databaseOf(2);
    const has = async (id: string) => (await collectionOf(database, 'tag').findOne({ _id: id })) !== null;
    await eventually(() => has('tag_before'));
    await publish(rebuild, [created('tag', 'tag_since')]);
    await eventually(async () => {
      const progress = await progressOf(rebuild.control).findOne({ generation: 2, topic: tags });
      return progress?.applied.position === endOf(tags) + 1 && progress.end === endOf(tags) + 2;
    });
    const { 2: state } = await rebuild.states();
    expect({ hasSince: await has('tag_since'), live: projector.live(), state }).toEqual({
      hasSince: false,
      live: null,
      state: 'building',
    });
    await publish(rebuild, [created('user', 'user_last')]);
    await eventually(() => has('tag_since'));
    expect((await rebuild.states())[2]).not.toBe('building');
  });
});

test('a generation whose first projector has waited for its topics has missed nothing', async () => {
  // given a generation that was registered eight days ago, and whose projector has read nothing since
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 3_600_000);
  await rebuild.given([generation(1, 'active', { registeredAt: daysAgo(8) })]);
  await rebuild.forgetProgress();
  const bad = async () => {
    const { generations } = await rebuild.status({ now: async () => new Date() });
    return generations[0]?.findings.filter(({ name }) => name === 'tombstones');
  };
  expect(await bad()).toEqual([]);
  await withProjector({}, async (projector, lines) => {
    await publish(rebuild, [created('tag', 'tag_first')]);
    const isStored = () => collectionOf(rebuild.databaseOf(1), 'tag').findOne({ _id: 'tag_first' });
    await eventually(async () => (await isStored()) !== null);
    const [own] = (await rebuild.registry()).generations;
    expect({ lines, bad: await bad(), longestBehindSeconds: own?.longestBehindSeconds }).toEqual({
      lines: [],
      bad: [],
      longestBehindSeconds: undefined,
    });
    expect(await projector.metrics.registry.metrics()).toMatch(/projector_max_lag_seconds{.*} 0$/m);
    // then its lag counts from its start, which no later projector moves
    const started = own?.startedAt;
    expect(started?.getTime()).toBeGreaterThan(daysAgo(1).getTime());
    await changeRegistry(rebuild.control, recordStart(1, new Date()));
    expect((await rebuild.registry()).generations[0]?.startedAt).toEqual(started);
  });
});

test('without the right to read how long Kafka keeps tombstones, a lag begins with its generation', async () => {
  await rebuild.given([generation(1, 'active')]);
  const refused = Object.assign(new Error('not authorized'), { type: 'TOPIC_AUTHORIZATION_FAILED' });
  const { control, topics } = rebuild;
  const admin = { ...rebuild.admin, describeConfigs: () => Promise.reject(refused) };
  const deps = { control, topics, admin, generation: 1, allowanceMs: 0, metrics: createMetrics() };
  const logger = pino({ level: 'silent' });
  const start = () => recordAbsence({ ...deps, logger, now: () => present });
  expect(await start()).toEqual(longAgo);
  // and if its first projector came long after its registration, with that
  await rebuild.set(1, { startedAt: secondsBefore(60) });
  expect(await start()).toEqual(secondsBefore(60));
});

test('a projector records the lag that grew while none was running, and the reason for its own end', async () => {
  // given a generation that no projector has followed for eight days, and a topic that was created again since
  const [topic = ''] = rebuild.topics;
  const ago = (days: number) => new Date(Date.now() - days * 24 * 3_600_000);
  await rebuild.given([generation(1, 'active', { registeredAt: ago(20) })]);
  await rebuild.setWatermark(1, ago(8));
  await rebuild.recreateTopic(1, topic);
  await withProjector({}, async (projector, lines) => {
    expect(lines.join()).toContain('deletions may have been missed; build another generation');
    const [own] = (await rebuild.registry()).generations;
    expect(own?.longestBehindSeconds).toBeGreaterThan(7.9 * 24 * 3_600);
    expect(await projector.metrics.registry.metrics()).toMatch(/projector_max_lag_seconds{.*} 691\d\d\d/);
    await eventually(() => projector.fatal.length > 0);
    expect(await readLogGaps(rebuild.control, 1)).toMatchObject([{ topic, partition: 0, kind: 'replaced' }]);
  });
});
