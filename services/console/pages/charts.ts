import { type Sample, sampleEveryMs } from '../../../shared/control/samples.ts';
import { type Html, html, table } from '../../../shared/pages/html.ts';
import type { Facts } from '../../operations/facts.ts';
import { staleAfterSeconds } from '../../operations/rules/generation.ts';
import { activeOf } from '../../operations/rules/rule.ts';
import { ago, numberCell, secondsCell } from '../layout.ts';

/** If two samples are further apart than this, in milliseconds, no projector ran in between. */
const gapMs = 3 * sampleEveryMs;

/** Projectors save samples at the first run of the commit loop in each interval, about a second apart. */
const intervalMinMs = 0.8 * sampleEveryMs;

/** A moment of the charts. A null ends the line: no projector ran, or its rate is still unknown. */
type Point = { at: Date; lag: number | null; rate: number | null };

/** The generation that was served at an instant. */
function servedAt({ registry }: Facts, at: Date): number | undefined {
  const lastSwitch = registry?.history.findLast(
    (transition) => transition.to === 'active' && transition.at <= at,
  );
  return lastSwitch?.generation ?? registry?.generation;
}

/**
 * Leaves out a sample that follows too soon on the previous sample, for example after the start of a projector: the
 * rate of a part of an interval depends on the length of that part.
 */
function withoutShortIntervals(samples: Sample[]): Sample[] {
  const kept: Sample[] = [];
  for (const sample of samples) {
    const previous = kept.at(-1);
    const isSameGeneration = previous?.generation === sample.generation;
    if (!isSameGeneration || sample.at.getTime() - previous.at.getTime() >= intervalMinMs) kept.push(sample);
  }
  return kept;
}

/** The points of the served generations, from samples in the order of time. The facts are the last point. */
export function chartPoints(facts: Facts, samples: Sample[]): Point[] {
  const active = activeOf(facts);
  if (!active) return [];
  const present = {
    generation: active.generation.number,
    at: facts.now,
    lagSeconds: active.lagSeconds,
    applied: active.partitions.reduce((sum, partition) => sum + partition.applied, 0),
  };
  const served = samples.filter(({ at, generation }) => at < facts.now && generation === servedAt(facts, at));
  const points: Point[] = [];
  let previous: Measured | undefined;
  for (const one of [...withoutShortIntervals(served), present]) {
    points.push(...pointsSince(previous, one, one === present));
    previous = one;
  }
  return points;
}

/** A sample, or the present facts in the form of a sample. */
type Measured = Pick<Sample, 'generation' | 'at' | 'lagSeconds' | 'applied'>;

/** The point of a sample and, after an outage, a point before it that ends the line or shows the rise of the lag. */
function pointsSince(previous: Measured | undefined, one: Measured, isPresent: boolean): Point[] {
  const { at, lagSeconds: lag, applied } = one;
  if (previous?.generation !== one.generation) return [{ at, lag, rate: null }];
  const elapsedMs = at.getTime() - previous.at.getTime();
  const rate = Math.max(0, applied - previous.applied) / (elapsedMs / 1_000);
  // The present comes too soon after the last sample for a rate.
  if (elapsedMs <= gapMs) return [{ at, lag, rate: isPresent ? null : rate }];
  const end = new Date(previous.at.getTime() + sampleEveryMs);
  if (!isPresent) {
    // An outage that has ended. Nothing is known of the time in between.
    return [
      { at: end, lag: null, rate: null },
      { at, lag, rate: null },
    ];
  }
  // During an outage that has not ended, the lag rises all the time.
  const risen = previous.lagSeconds === null ? null : previous.lagSeconds + sampleEveryMs / 1_000;
  return [
    { at: end, lag: risen, rate },
    { at, lag, rate },
  ];
}

/** Lag and throughput of the last hour. The script draws them; the table beneath has them without it. */
export function charts(facts: Facts, samples: Sample[]): Html {
  const { now } = facts;
  const points = chartPoints(facts, samples);
  const isDrawn = (field: 'lag' | 'rate') => points.filter((point) => point[field] !== null).length > 1;
  if (!isDrawn('lag') || !isDrawn('rate')) return html``;
  const lagChart: Chart = {
    title: `Lag in the last hour (stale above ${staleAfterSeconds} s)`,
    unit: ' s',
    least: staleAfterSeconds,
    values: points.map(({ lag }) => lag),
  };
  const rateChart: Chart = {
    title: 'Records applied a second in the last hour',
    unit: '',
    least: 1,
    values: points.map(({ rate }) => rate),
  };
  return html`<div class="charts">
      ${renderChart(lagChart, points, now)} ${renderChart(rateChart, points, now)}
    </div>
    <details id="samples">
      <summary id="open-samples">Lag and throughput as a table</summary>
      ${samplesTable(points, now)}
    </details>`;
}

/** A chart of one value of each point. */
type Chart = {
  title: string;
  unit: string;
  /** The axis reaches at least this value. Otherwise the noise of a healthy system would look large. */
  least: number;
  values: (number | null)[];
};

const secondsOf = (at: Date) => Math.round(at.getTime() / 1_000);

function renderChart({ title, unit, least, values }: Chart, points: Point[], now: Date): Html {
  const times = points.map(({ at }) => secondsOf(at));
  const rounded = values.map((value) => (value === null ? null : Math.round(value * 10) / 10));
  const series = JSON.stringify([times, rounded]);
  return html`<figure>
    <figcaption>${title}</figcaption>
    <div
      class="plot"
      role="img"
      aria-label="${title}"
      data-points="${series}"
      data-until="${secondsOf(now)}"
      data-unit="${unit}"
      data-least="${least}"
    ></div>
  </figure>`;
}

const rowMs = 300_000;

/** One row for each five minutes, the latest first. */
function samplesTable(points: Point[], now: Date): Html {
  const byRow = Map.groupBy(points, ({ at }) => Math.floor((now.getTime() - at.getTime()) / rowMs));
  const rows = [...byRow.values()].toReversed();
  const titles = ['Until', 'Longest lag', 'Records/s'];
  return table(
    'The last hour, by five minutes',
    titles,
    rows.map((rowPoints) => sampleRow(rowPoints, now)),
  );
}

function sampleRow(points: Point[], now: Date): [Html, ...Html[]] {
  const lags = points.map(({ lag }) => lag).filter((lag) => lag !== null);
  const rates = points.map(({ rate }) => rate).filter((rate) => rate !== null);
  const longestLag = lags.length > 0 ? Math.max(...lags) : null;
  const meanRate = rates.length > 0 ? rates.reduce((sum, rate) => sum + rate, 0) / rates.length : null;
  return [ago(points.at(-1)?.at ?? now, now), secondsCell(longestLag), numberCell(meanRate)];
}
