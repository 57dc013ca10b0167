import { grouped } from './markdown.ts';
import type { Spread } from './statistics.ts';

/** A bar of a chart: the median of a figure, null where it was not measured. */
export type Bar = { title: string; isOurs: boolean; figure: Spread | null };

const width = 860;
const labelWidth = 400;
const rowHeight = 34;
const barHeight = 18;
const margin = { top: 56, right: 90, bottom: 20 };

/** Renders a bar for each median, with a line from the minimum to the maximum. */
export function renderChart(title: string, bars: Bar[]): string {
  const measured = bars.filter(({ figure }) => figure);
  const largest = Math.max(1, ...measured.map(({ figure }) => figure?.max ?? 0));
  const xOf = (value: number) => labelWidth + (value / largest) * (width - labelWidth - margin.right);
  const height = margin.top + measured.length * rowHeight + margin.bottom;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `  <title>${escaped(title)}, by contender</title>`,
    `  <style>text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 16px; font-weight: 600 } .figure { font-variant-numeric: tabular-nums }</style>`,
    `  <rect width="${width}" height="${height}" rx="8" fill="#ffffff"/>`,
    `  <text class="title" x="16" y="32">${escaped(title)} (median; the line spans all rounds)</text>`,
    ...measured.map((one, row) => bar(one, margin.top + row * rowHeight, xOf)),
    '</svg>',
    '',
  ].join('\n');
}

function bar({ title, isOurs, figure }: Bar, top: number, xOf: (value: number) => number): string {
  const { median, min, max } = figure ?? { median: 0, min: 0, max: 0 };
  const middle = top + rowHeight / 2;
  const fill = isOurs ? '#2f6fde' : '#9aa4b2';
  const x = (value: number) => xOf(value).toFixed(1);
  return [
    `  <text x="${labelWidth - 10}" y="${middle + 4}" text-anchor="end">${escaped(title.replaceAll('`', ''))}</text>`,
    `  <rect x="${labelWidth}" y="${middle - barHeight / 2}" width="${(xOf(median) - labelWidth).toFixed(1)}" height="${barHeight}" fill="${fill}"/>`,
    `  <line x1="${x(min)}" x2="${x(max)}" y1="${middle}" y2="${middle}" stroke="#1f2328" stroke-width="1.5"/>`,
    `  <text class="figure" x="${(xOf(max) + 8).toFixed(1)}" y="${middle + 4}">${grouped(median, 0)}</text>`,
  ].join('\n');
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
