import { reportChanges } from './poll-until.ts';

test('a line is reported when its words change or after 15 seconds when its numbers change', () => {
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
