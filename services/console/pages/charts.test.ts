import { before, facts, factsOf, now } from '../../../tests/support/facts.ts';
import { chartPoints, charts } from './charts.ts';

const sample = (generation: number, secondsAgo: number, applied: number, lagSeconds = 2) => ({
  _id: `${generation}/${secondsAgo}`,
  generation,
  at: before(secondsAgo),
  lagSeconds,
  applied,
});

/** The points as seconds before now, lag and rate. */
const points = (...[of, samples]: Parameters<typeof chartPoints>) =>
  chartPoints(of, samples).map(({ at, lag, rate }) => [(now.getTime() - at.getTime()) / 1_000, lag, rate]);

const served = facts([factsOf(1, 'active')]);

test('the rate is the rate since the previous sample, and the line ends where no projector ran', () => {
  expect(
    points(served, [sample(1, 230, 10), sample(1, 210, 50), sample(1, 30, 60), sample(1, 10, 0)]),
  ).toEqual([
    [230, 2, null],
    [210, 2, 2],
    [190, null, null],
    [30, 2, null],
    // A topic that was created again begins at its first record.
    [10, 2, 0],
    [0, 1, null],
  ]);
});

test('a sample soon after the previous sample has no rate', () => {
  const started = [
    sample(1, 50, 0),
    sample(1, 30, 800),
    sample(1, 25, 800),
    sample(1, 10, 1_600),
    sample(1, 9, 1_600),
  ];
  expect(points(served, started)).toEqual([
    [50, 2, null],
    [30, 2, 40],
    [10, 2, 40],
    [0, 1, null],
  ]);
});

test('the lag rises to the present lag while no projector saves samples', () => {
  const stopped = facts([factsOf(1, 'active', { lagSeconds: 302 })]);
  expect(points(stopped, [sample(1, 320, 0), sample(1, 300, 0)])).toEqual([
    [320, 2, null],
    [300, 2, 0],
    [280, 22, 0],
    [0, 302, 0],
  ]);
});

test('the hour shows the generation that was served at each time', () => {
  const became = (generation: number, secondsAgo: number) =>
    ({ generation, from: null, to: 'active', at: before(secondsAgo), by: 'ann', why: '' }) as const;
  const generations = [factsOf(1, 'standby'), factsOf(2, 'active')];
  const { registry } = facts(generations);
  const history = [became(1, 9_000), became(2, 50)];
  const promoted = facts(generations, { registry: registry && { ...registry, history } });
  const both = [60, 40].flatMap((ago) => [sample(1, ago, 5, 1), sample(2, ago, 500, 900)]);
  expect(points(promoted, both)).toEqual([
    [60, 1, null],
    [40, 900, null],
    [0, 1, null],
  ]);
});

test('the table has the longest lag and the mean rate of each five minutes', () => {
  const earlier = [sample(1, 340, 0, 4), sample(1, 320, 40, 9), sample(1, 300, 120, 3)];
  const since = [
    sample(1, 280, 240, 1),
    sample(1, 220, 840, 2),
    sample(1, 160, 1_080, 30),
    sample(1, 100, 1_320, 2),
    sample(1, 40, 1_680, 2),
  ];
  const { html } = charts(served, [...earlier, ...since]);
  const text = html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  expect(text).toContain('Until Longest lag Records/s 0 s ago 30 s 6 5 min ago 9 s 3');
});
