import { pino } from 'pino';
import { recordAbsence } from '../../services/projector/generations/follow.ts';
import { createMetrics } from '../../services/projector/metrics.ts';
import { readLogGaps } from '../../shared/control/log-gaps.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { changeRegistry, storeStart } from '../../shared/control/registry.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { logEnds } from '../support/progress.ts';
import { publish, runProjector } from '../support/test-environment.ts';
import { generation, longAgo, present, secondsBefore, useRebuild } from './fixture.ts';

const rebuild = useRebuild();
const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 3_600_000);
/** A generation that no projector has followed yet. */
const { startedAt: _startedAt, ...unstarted } = generation(1, 'active');

/** Runs a projector while `use` runs. `errors` are the lines that it logs. */
async function withProjector(
  settings: object,
  use: (projector: Awaited<ReturnType<typeof runProjector>>, errors: string[]) => Promise<void>,
): Promise<void> {
  const errors: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line: string) => errors.push(line) });
  const config = { ...rebuild.config, ...settings };
  const projector = await runProjector({ ...rebuild, config }, { logger });
  await use(projector, errors).finally(projector.stop);
}

test('a build loads the log up to its end at the start, and then applies the later records', async () => {
  // The load includes one record of a tag and one of a user that is still to come.
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
  await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'building', { loadTo })]);
  await rebuild.forgetProgress();
  await publish(rebuild, [created('tag', 'tag_in_load')]);
  await withProjector({ GENERATION: 2 }, async (projector) => {
    const database = rebuild.databaseOf(2);
    const isStored = async (id: string) =>
      (await collectionOf(database, 'tag').findOne({ _id: id })) !== null;
    await eventually(() => isStored('tag_in_load'));
    await publish(rebuild, [created('tag', 'tag_after_load')]);
    await eventually(async () => {
      const progress = await progressOf(rebuild.control).findOne({ generation: 2, topic: tags });
      return progress?.applied.position === endOf(tags) + 1 && progress.end === endOf(tags) + 2;
    });
    const { 2: state } = await rebuild.states();
    expect({
      hasLaterTag: await isStored('tag_after_load'),
      livenessFailure: projector.livenessFailure(),
      state,
    }).toEqual({ hasLaterTag: false, livenessFailure: null, state: 'building' });
    await publish(rebuild, [created('user', 'user_last')]);
    await eventually(() => isStored('tag_after_load'));
    expect((await rebuild.states())[2]).not.toBe('building');
  });
});

test('a generation misses no tombstone while it waits for its first projector', async () => {
  // The generation waits for longer than Kafka keeps tombstones.
  await rebuild.storeGenerations([{ ...unstarted, since: daysAgo(8) }]);
  await rebuild.forgetProgress();
  const findMissedTombstones = async () => {
    const { generations } = await rebuild.status({ now: async () => new Date() });
    return generations[0]?.findings.filter(({ name }) => name === 'tombstones');
  };
  expect(await findMissedTombstones()).toEqual([]);
  await withProjector({}, async (projector, lines) => {
    await publish(rebuild, [created('tag', 'tag_first')]);
    const isStored = () => collectionOf(rebuild.databaseOf(1), 'tag').findOne({ _id: 'tag_first' });
    await eventually(async () => (await isStored()) !== null);
    const [active] = (await rebuild.registry()).generations;
    const longestBehindSeconds = active?.longestBehindSeconds;
    expect({ lines, findings: await findMissedTombstones(), longestBehindSeconds }).toEqual({
      lines: [],
      findings: [],
      longestBehindSeconds: undefined,
    });
    expect(await projector.metrics.registry.metrics()).toMatch(/projector_max_lag_seconds{.*} 0$/m);
    // The lag counts from the start of the first projector. The start of a later projector does not move it.
    const started = active?.startedAt;
    expect(started?.getTime()).toBeGreaterThan(daysAgo(1).getTime());
    await changeRegistry(rebuild.control, storeStart(1, new Date()));
    expect((await rebuild.registry()).generations[0]?.startedAt).toEqual(started);
  });
});

describe('without the right to read how long Kafka keeps tombstones', () => {
  const refused = Object.assign(new Error('not authorized'), { type: 'TOPIC_AUTHORIZATION_FAILED' });
  const deps = () => ({
    control: rebuild.control,
    topics: rebuild.topics,
    admin: { ...rebuild.admin, describeConfigs: () => Promise.reject(refused) },
    generation: 1,
    allowanceMs: 0,
    metrics: createMetrics(),
  });
  const logger = pino({ level: 'silent' });
  const lagStart = () => recordAbsence({ ...deps(), logger, now: () => present });
  beforeEach(() => rebuild.storeGenerations([{ ...unstarted, since: longAgo }]));

  test('the lag of a generation counts from now if no projector has started', async () => {
    expect(await lagStart()).toEqual(present);
    expect((await rebuild.registry()).generations).toMatchObject([{ startedAt: present }]);
  });

  test('the lag of a generation counts from its first projector once one has started', async () => {
    await rebuild.changeGeneration(1, { startedAt: secondsBefore(60) });
    expect(await lagStart()).toEqual(secondsBefore(60));
  });
});

test('a projector stores the lag that grew while no projector was running', async () => {
  // No projector has followed the generation for eight days, in which a topic was created again.
  const [topic = ''] = rebuild.topics;
  await rebuild.storeGenerations([generation(1, 'active', { startedAt: daysAgo(20) })]);
  await rebuild.setWatermark(1, daysAgo(8));
  await rebuild.recreateTopic(1, topic);
  await withProjector({}, async (projector, lines) => {
    expect(lines.join()).toContain('deletions may have been missed; build another generation');
    const [active] = (await rebuild.registry()).generations;
    expect(active?.longestBehindSeconds).toBeGreaterThan(7.9 * 24 * 3_600);
    expect(await projector.metrics.registry.metrics()).toMatch(/projector_max_lag_seconds{.*} 691\d\d\d/);
    await eventually(() => projector.fatal.length > 0);
    expect(await readLogGaps(rebuild.control, 1)).toMatchObject([{ topic, partition: 0, kind: 'replaced' }]);
  });
});
