import { progressOf, raiseWatermark, watermark } from '../../shared/store/progress.ts';
import { applyRecords } from '../../services/projector/pipeline/apply-records.ts';
import {
  createProgressRecorder,
  registerPartitions,
  type SaveProgress,
} from '../../services/projector/consumer/progress.ts';
import type { Snapshot } from '../../services/projector/consumer/snapshot.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { engineDeps, recordOf } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import {
  applied,
  createTestEnvironment,
  runProjector,
  type TestEnvironment,
} from '../support/test-environment.ts';

const generation = 1;
const allowanceMs = 1_000;

describe('the watermark', () => {
  let testEnvironment: TestEnvironment;
  let saveProgress: SaveProgress;
  beforeEach(async () => {
    testEnvironment = await createTestEnvironment(1);
    saveProgress = createProgressRecorder({ control: testEnvironment.control, generation, allowanceMs });
  }, 60_000);
  afterEach(() => testEnvironment.close(), 60_000);

  const at = (
    partition: number,
    position: number,
    appliedToMs: number | null = null,
    oldestPendingMs: number | null = appliedToMs,
  ): Snapshot => ({ topic: 't', partition, position, appliedToMs, oldestPendingMs, progressCount: 0 });
  /** One run of a projector's commit loop: it reads the end offsets at an instant, and saves its progress. */
  const record = async (atMs: number, ends: number[], snapshot: Snapshot[]) => {
    const byKey = new Map(ends.map((end, partition) => [`t/${partition}`, { low: 0, end }]));
    await registerPartitions(testEnvironment.control, generation, [...byKey.keys()], new Date(atMs));
    await saveProgress(snapshot, byKey, new Date(atMs));
    return (await raiseWatermark(testEnvironment.control, generation)).getTime();
  };

  test('is now, less the allowance, while nothing is left to apply', async () => {
    expect(await record(50_000, [3, 0], [at(0, 3, 7_000), at(1, 0)])).toBe(49_000);
    expect(await record(60_000, [3, 0], [at(0, 3, 7_000), at(1, 0)])).toBe(59_000);
  });

  test('is the time of the last event of the slowest partition while catching up', async () => {
    expect(await record(50_000, [9, 9], [at(0, 3, 7_000), at(1, 9, 8_000)])).toBe(6_000);
    expect(await record(51_000, [9, 9], [at(0, 4, 20_000), at(1, 9, 8_000)])).toBe(19_000);
    // A partition without applied records or with an unknown end is not complete up to any instant.
    expect(await record(52_000, [9, 9, 9], [at(0, 9), at(1, 9), at(2, 0)])).toBe(19_000);
    await saveProgress([at(7, 7)], new Map(), new Date(53_000));
    expect(await progressOf(testEnvironment.control).findOne({ partition: 7 })).toMatchObject({
      position: 7,
      end: 7,
      completeTo: new Date(0),
    });
  });

  test('never moves backwards: neither for a new owner that knows less, nor for an older event', async () => {
    expect(await record(50_000, [9], [at(0, 9, 40_000)])).toBe(49_000);
    expect(await record(51_000, [12], [at(0, 9)])).toBe(49_000);
    expect(await record(52_000, [12], [at(0, 10, 3_000)])).toBe(49_000);
    expect((await watermark(testEnvironment.control, generation))?.getTime()).toBe(49_000);
    expect(await record(53_000, [12], [at(0, 12, 3_000)])).toBe(52_000);
  });

  test('does not move from when a partition is added until that partition is applied', async () => {
    expect(await record(50_000, [9], [at(0, 9)])).toBe(49_000);
    expect(await record(60_000, [9, 4], [at(0, 9)])).toBe(49_000);
    expect(await record(61_000, [9, 4], [at(0, 9), at(1, 2, 50_500)])).toBe(49_500);
    expect(await record(62_000, [9, 4], [at(0, 9), at(1, 4, 50_600)])).toBe(61_000);
  });

  test('does not move backwards if a projector registers a partition late', async () => {
    // given a projector that is about to register a new partition
    expect(await record(50_000, [9], [at(0, 9)])).toBe(49_000);
    const late = { _id: '1/t/1', generation, topic: 't', partition: 1, position: 0, end: 0 };
    // when another projector, which has not seen the partition, raises the watermark just before
    expect(await record(55_000, [9], [at(0, 9)])).toBe(54_000);
    await progressOf(testEnvironment.control).insertOne({
      ...late,
      completeTo: new Date(49_000),
      updatedAt: new Date(),
    });
    // then the watermark stays
    expect(await record(56_000, [9], [at(0, 9)])).toBe(54_000);
  });

  test('ignores an event time that is later than the timestamp of its record', async () => {
    const recordsAt = [10_000, 20_000].map((timestampMs, offset) => {
      const event = created('tag', `tag_${offset}`);
      const time = offset === 0 ? new Date('2099-01-01T00:00:00Z') : new Date(5_000);
      return recordOf({ ...event, time }, offset, timestampMs);
    });
    const { control, config } = testEnvironment;
    const deps = engineDeps(mongoStore(testEnvironment.database));
    const keeping = { control, generation, prefix: config.TOPIC_PREFIX };
    const result = await applyRecords({ ...deps, ...keeping }, 'tag', recordsAt, deps);
    expect(result).toMatchObject({ events: 2, rejected: 0, appliedToMs: 10_000 });
  });

  test('an event older than the watermark is applied, and counted as late', async () => {
    const projector = await runProjector(testEnvironment);
    const topic = topicOf('tag', testEnvironment.config.TOPIC_PREFIX);
    const late = async () => (await projector.metrics.late.get()).values.map(({ value }) => value);
    const publish = async (id: string, time: Date) => {
      await testEnvironment.producer.send({
        topic,
        messages: [encode({ ...created('tag', id), time }, 'binary')],
      });
      await applied(testEnvironment, () => projector.fatal);
    };
    // given a watermark
    const startedAt = new Date();
    const isPromised = async () => ((await watermark(testEnvironment.control, generation)) ?? 0) >= startedAt;
    while (!(await isPromised())) await new Promise((resolve) => setTimeout(resolve, 100));
    // when one event is published in time, and another later than the allowance
    await publish('tag_1', new Date());
    expect(await late()).toEqual([0]);
    await publish('tag_2', new Date(startedAt.getTime() - 1));
    expect(await late()).toEqual([1]);
    expect(await testEnvironment.database.collection('tags').countDocuments()).toBe(2);
    await projector.stop();
  }, 60_000);
});
