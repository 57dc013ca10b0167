import { html, type Html } from '../../shared/pages/html.ts';
import { seconds } from './layout.ts';
import { keptMs, sampleEveryMs, type Sample } from './samples.ts';

const [width, height] = [600, 120];
/** The scale reaches at least this far, in seconds, so that a lag of a few seconds looks short. */
const scaleSecondsMin = 30;

/** The shortest time that the chart covers, in milliseconds. */
const spanMsMin = 600_000;

/** The lag during the last hour as a line, with its numbers in words. The line has gaps at times of unknown lag. */
export function lagChart(samples: readonly Sample[], nowMs: number): Html {
  const sinceMs = samples[0]?.atMs ?? nowMs;
  const spanMs = Math.min(keptMs, Math.max(spanMsMin, nowMs - sinceMs));
  const period = `Lag during the last ${Math.round(spanMs / 60_000)} minutes`;
  const known = samples.flatMap(({ atMs, lagSeconds }) =>
    lagSeconds === null ? [] : [{ atMs, lagSeconds }],
  );
  const longest = known.reduce((most, one) => (one.lagSeconds > most.lagSeconds ? one : most), {
    atMs: nowMs,
    lagSeconds: 0,
  });
  const top = Math.max(scaleSecondsMin, longest.lagSeconds);
  const x = (atMs: number) => Math.round(width * (1 - (nowMs - atMs) / spanMs) * 10) / 10;
  const y = (seconds: number) => Math.round((height - 2 - (height - 4) * (seconds / top)) * 10) / 10;
  const segments = known.map(({ atMs, lagSeconds }, index) => {
    const isNext = atMs - (known[index - 1]?.atMs ?? 0) < 2.5 * sampleEveryMs;
    // A sample without neighbours is a dot.
    return `${isNext ? 'L' : 'M'}${x(atMs)} ${y(lagSeconds)}${isNext ? '' : 'h0'}`;
  });
  const words = known.length
    ? `At most ${Math.round(longest.lagSeconds)} s, at ${clock(longest.atMs)}; now ${seconds(samples.at(-1)?.lagSeconds ?? null)}.`
    : 'No lag is known yet.';
  return html`<figure>
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${period}. ${words}">
      <path class="axis" d="M0 ${height - 2}H${width}" />
      <path class="line" d="${segments.join('')}" />
    </svg>
    <figcaption>
      ${period}, on a scale up to ${Math.round(top)} s. ${words} The console samples the lag every
      ${sampleEveryMs / 1_000} s, and keeps the samples of one hour in memory, now those since
      ${clock(sinceMs)}.
    </figcaption>
  </figure>`;
}

const clock = (atMs: number): string => `${new Date(atMs).toISOString().slice(11, 19)} UTC`;
