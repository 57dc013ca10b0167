import { pino } from 'pino';
import { progressOf } from '../../shared/control/progress.ts';
import { createSampler, readSamples, samplesOf } from '../../shared/control/samples.ts';
import { openDatabases } from '../support/databases.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(openDatabases);
const logger = pino({ level: 'silent' });

test('two projectors save one sample in each interval and delete samples after an hour', async () => {
  const { control } = opened;
  const apply = (position: number) =>
    progressOf(control).updateOne(
      { _id: '1/t/0' },
      { $set: { generation: 1, 'applied.position': position } },
      { upsert: true },
    );
  const projectors = [1, 2].map(() => createSampler({ control, generation: 1, allowanceMs: 1_000, logger }));
  const runs = [
    [60_000, 3],
    [79_000, 4],
    [80_000, 9],
    [3_660_000, 9],
  ] as const;
  for (const [ms, position] of runs) {
    await apply(position);
    for (const sample of projectors) await sample(new Date(ms), new Date(ms - 3_000));
  }
  expect(await samplesOf(control).countDocuments()).toBe(2);
  const samples = await readSamples(control, new Date(3_660_000));
  expect(samples.map(({ at, applied, lagSeconds }) => [at.getTime(), applied, lagSeconds])).toEqual([
    [80_000, 9, 2],
    [3_660_000, 9, 2],
  ]);
});

test('the lag of a sample is unknown without a watermark', async () => {
  const { control } = opened;
  await createSampler({ control, generation: 2, allowanceMs: 1_000, logger })(new Date(60_000), new Date(0));
  const samples = await readSamples(control, new Date(60_000));
  expect(samples.filter(({ generation }) => generation === 2)).toMatchObject([
    { lagSeconds: null, applied: 0 },
  ]);
});

test('a run of the commit loop succeeds although its sample cannot be saved', async () => {
  const { control } = opened;
  await samplesOf(control).deleteMany();
  await samplesOf(control).createIndex({ generation: 1 }, { unique: true });
  const sample = createSampler({ control, generation: 3, allowanceMs: 1_000, logger });
  for (const ms of [60_000, 80_000]) await sample(new Date(ms), new Date(0));
  expect(await samplesOf(control).countDocuments({ generation: 3 })).toBe(1);
});
