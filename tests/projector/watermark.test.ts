import type { Snapshot } from '../../services/projector/partition/snapshot.ts';
import { createProgressRecorder, type ProgressRecorder } from '../../services/projector/progress/progress.ts';
import { progressOf, raiseWatermark, readWatermark } from '../../shared/control/progress.ts';
import { openDatabases } from '../support/databases.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { snapshot } from '../support/snapshot.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

const generation = 1;
const allowanceMs = 1_000;

describe('the watermark', () => {
  const opened = useOpened(openDatabases, { each: true });
  let recorder: ProgressRecorder;
  const createRecorder = () => {
    recorder = createProgressRecorder({ control: opened.control, generation, allowanceMs, processId: 'p' });
  };
  beforeEach(createRecorder);

  const snapshotAt = (partition: number, position: number) => snapshot({ partition, position });
  /** One run of a projector's commit loop: it reads the end offsets at an instant, and saves its progress. */
  const record = async (atMs: number, ends: number[], partitions: Snapshot[]) => {
    const byKey = new Map(ends.map((end, partition) => [`t/${partition}`, { low: 0, end }]));
    await recorder.register([...byKey.keys()], new Date(atMs));
    await recorder.save(partitions, byKey, new Date(atMs));
    const { watermark } = await raiseWatermark(opened.control, generation, ['t'], new Date(atMs));
    return watermark.getTime();
  };

  test('never moves backwards for new records or for a new owner that knows less', async () => {
    expect(await record(50_000, [9], [snapshotAt(0, 9)])).toBe(49_000);
    expect(await record(51_000, [12], [snapshotAt(0, 9)])).toBe(49_000);
    createRecorder();
    expect(await record(52_000, [15], [snapshotAt(0, 13)])).toBe(49_000);
    // A late save of a stale owner sets no position back. Otherwise the next start would find a gap in the log.
    await recorder.save([snapshotAt(0, 9)], new Map(), new Date(52_500));
    const saved = await progressOf(opened.control).findOne({ partition: 0 });
    expect(saved).toMatchObject({ applied: { position: 13 } });
    expect(await readWatermark(opened.control, generation)).toEqual(new Date(49_000));
    expect(await record(53_000, [15], [snapshotAt(0, 15)])).toBe(52_000);
  });

  test('does not move after a partition is added until that partition is applied', async () => {
    expect(await record(50_000, [9], [snapshotAt(0, 9)])).toBe(49_000);
    expect(await record(60_000, [9, 4], [snapshotAt(0, 9)])).toBe(49_000);
    expect(await record(61_000, [9, 4], [snapshotAt(0, 9), snapshotAt(1, 2)])).toBe(49_000);
    expect(await record(62_000, [9, 6], [snapshotAt(0, 9), snapshotAt(1, 4)])).toBe(60_000);
  });

  test('waits for a topic of another release only while a projector of that release runs', async () => {
    // This release does not follow this topic.
    await progressOf(opened.control).insertOne({
      _id: '1/other/0',
      generation,
      topic: 'other',
      partition: 0,
      applied: { position: 5 },
      end: 9,
      completeTo: new Date(20_000),
      updatedAt: new Date(50_000),
    });
    expect(await record(60_000, [9], [snapshotAt(0, 9)])).toBe(20_000);
    // No projector has saved that progress for longer than 30 s.
    expect(await record(80_001, [9], [snapshotAt(0, 9)])).toBe(79_001);
  });

  test('does not move backwards if a projector registers a partition late', async () => {
    // A projector is about to register a new partition.
    expect(await record(50_000, [9], [snapshotAt(0, 9)])).toBe(49_000);
    const registration = {
      _id: '1/t/1',
      generation,
      topic: 't',
      partition: 1,
      applied: { position: 0 },
      end: 0,
      completeTo: new Date(49_000),
      updatedAt: new Date(),
    };
    // Another projector has not seen the partition, and raises the watermark just before the registration.
    expect(await record(55_000, [9], [snapshotAt(0, 9)])).toBe(54_000);
    await progressOf(opened.control).insertOne(registration);
    expect(await record(56_000, [9], [snapshotAt(0, 9)])).toBe(54_000);
  });
});

describe('an event', () => {
  const { environment, publish, applied, start } = useProjector({ projectors: 0 });

  test('counts as late once if it is older than the watermark', async () => {
    const projector = await start();
    const lateCount = async () => {
      const { values } = await projector.metrics.late.get();
      return values.reduce((sum, { value }) => sum + value, 0);
    };
    const publishAt = async (id: string, time: Date) => {
      await publish({ ...created('tag', id), time });
      await applied();
    };
    const startedAt = new Date();
    await eventually(async () => {
      const watermark = await readWatermark(environment.control, generation);
      return watermark !== null && watermark >= startedAt;
    });
    // The source publishes one event in time, and another event later than the allowance.
    await publishAt('tag_1', new Date(Date.now() + 60_000));
    expect(await lateCount()).toBe(0);
    await publishAt('tag_2', new Date(startedAt.getTime() - 1));
    expect(await lateCount()).toBe(1);
    expect(await environment.database.collection('tags').countDocuments()).toBe(2);
    // The source appends the late event again, as an outbox relay does after a crash.
    await publishAt('tag_2', new Date(startedAt.getTime() - 1));
    expect(await lateCount()).toBe(1);
  });
});
