import { chartPoints } from './charts.ts';

const sample = (seconds: number, applied: number) => {
  const at = new Date(seconds * 1_000);
  return { _id: `1/${seconds}`, generation: 1, at, lagSeconds: 2, applied };
};

test('the rate is that since the sample before, and the line ends where no projector ran', () => {
  const points = chartPoints([sample(0, 10), sample(20, 50), sample(200, 60), sample(220, 0)]);
  expect(points.map(({ at, lag, rate }) => [at.getTime() / 1_000, lag, rate])).toEqual([
    [0, 2, null],
    [20, 2, 2],
    [40, null, null],
    [200, 2, null],
    // A topic that was created again begins at its first record.
    [220, 2, 0],
  ]);
});
