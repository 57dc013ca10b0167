import { reportChanges, within } from './poll-until.ts';

test('a line is reported when its words change, and its numbers every 15 seconds', () => {
  const reported: string[] = [];
  let ms = 0;
  const report = reportChanges(
    (line) => reported.push(line),
    () => ms,
  );
  for (ms = 0; ms <= 30_000; ms += 2_000) report(`generation 2: ${1_000 - ms / 100} records to load`);
  report('generation 2: 12 records to apply');
  report('generation 2: 12 records to apply');
  expect(reported).toEqual([
    'generation 2: 1000 records to load',
    'generation 2: 840 records to load',
    'generation 2: 12 records to apply',
  ]);
});

test('a deadline is over with the work, and leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  expect(await within(60_000, Promise.resolve('done'), () => 'late')).toBe('done');
  expect(timers()).toBe(before);
  expect(await within(1, new Promise<never>(() => undefined), () => 'late')).toBe('late');
});
