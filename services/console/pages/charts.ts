import { html, table, type Html } from '../../../shared/pages/html.ts';
import { sampleEveryMs, type Sample } from '../../../shared/control/samples.ts';
import { ago, number, seconds } from '../layout.ts';

/** Without a sample for this long, the line has a gap. */
const gapMs = 3 * sampleEveryMs;

/** A moment of the charts. A null ends the line: no projector ran, or its rate is not known yet. */
type Point = { at: Date; lag: number | null; rate: number | null };

/** The points of samples in the order of time. */
export function chartPoints(samples: Sample[]): Point[] {
  return samples.flatMap(({ at, lagSeconds: lag, applied }, index): Point[] => {
    const before = samples[index - 1];
    const elapsedMs = before ? at.getTime() - before.at.getTime() : Infinity;
    if (!before || elapsedMs > gapMs)
      return [
        ...(before ? [{ at: new Date(before.at.getTime() + sampleEveryMs), lag: null, rate: null }] : []),
        { at, lag, rate: null },
      ];
    return [{ at, lag, rate: Math.max(0, applied - before.applied) / (elapsedMs / 1_000) }];
  });
}

/** Lag and throughput of the last hour. The script draws them; the table beneath has them without it. */
export function charts(samples: Sample[], now: Date): Html {
  const points = chartPoints(samples);
  if (!points.some(({ rate }) => rate !== null)) return html``;
  return html`<div class="charts">
      ${chart('Lag in the last hour', ' s', now, points, ({ lag }) => lag)}
      ${chart('Records applied a second in the last hour', '', now, points, ({ rate }) => rate)}
    </div>
    <details id="samples">
      <summary id="open-samples">Lag and throughput as a table</summary>
      ${samplesTable(points, now)}
    </details>`;
}

const chart = (
  title: string,
  unit: string,
  now: Date,
  points: Point[],
  valueOf: (point: Point) => number | null,
): Html => {
  const secondsOf = (at: Date) => Math.round(at.getTime() / 1_000);
  const values = points.map(valueOf).map((value) => value && Math.round(value * 10) / 10);
  const series = JSON.stringify([points.map(({ at }) => secondsOf(at)), values]);
  return html`<figure>
    <figcaption>${title}</figcaption>
    <div
      class="plot"
      role="img"
      aria-label="${title}"
      data-points="${series}"
      data-until="${secondsOf(now)}"
      data-unit="${unit}"
    ></div>
  </figure>`;
};

const rowMs = 300_000;

/** One row for each five minutes, the latest first. */
const samplesTable = (points: Point[], now: Date): Html =>
  table(
    'The last hour, by five minutes',
    ['Until', 'Longest lag', 'Records/s'],
    [...Map.groupBy(points, ({ at }) => Math.floor((now.getTime() - at.getTime()) / rowMs))]
      .toReversed()
      .map(([, some]) => {
        const known = (field: 'lag' | 'rate') => some.flatMap((point) => point[field] ?? []);
        const [lags, rates] = [known('lag'), known('rate')];
        return [
          ago(some.at(-1)?.at ?? now, now),
          seconds(lags.length > 0 ? Math.max(...lags) : null),
          number(rates.length > 0 ? rates.reduce((a, b) => a + b, 0) / rates.length : null),
        ];
      }),
  );
