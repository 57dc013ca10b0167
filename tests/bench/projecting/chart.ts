import type { ContenderResult } from './result.ts';
import { grouped } from './table.ts';

const width = 860;
const labelWidth = 400;
const rowHeight = 34;
const barHeight = 18;
const margin = { top: 56, right: 90, bottom: 20 };

/**
 * A bar for each contender's median of records a second, with a line from its least to its most. `discard` is left out:
 * it stores nothing, and beside its bar the others would not be told apart.
 */
export function renderChart(contenders: ContenderResult[]): string {
  const shown = contenders.filter(({ name, recordsPerSecond }) => name !== 'discard' && recordsPerSecond);
  const most = Math.max(1, ...shown.map(({ recordsPerSecond }) => recordsPerSecond?.max ?? 0));
  const xOf = (value: number) => labelWidth + (value / most) * (width - labelWidth - margin.right);
  const height = margin.top + shown.length * rowHeight + margin.bottom;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `  <title>Records per second from an empty database, by contender</title>`,
    `  <style>text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 16px; font-weight: 600 } .figure { font-variant-numeric: tabular-nums }</style>`,
    `  <rect width="${width}" height="${height}" rx="8" fill="#ffffff"/>`,
    `  <text class="title" x="16" y="32">Records per second from an empty database (median; the line spans all rounds)</text>`,
    ...shown.map((contender, row) => bar(contender, margin.top + row * rowHeight, xOf)),
    '</svg>',
    '',
  ].join('\n');
}

function bar(
  { name, title, recordsPerSecond }: ContenderResult,
  top: number,
  xOf: (value: number) => number,
): string {
  const { median, min, max } = recordsPerSecond ?? { median: 0, min: 0, max: 0 };
  const middle = top + rowHeight / 2;
  const fill = name.startsWith('projector') ? '#2f6fde' : '#9aa4b2';
  const at = (value: number) => xOf(value).toFixed(1);
  return [
    `  <text x="${labelWidth - 10}" y="${middle + 4}" text-anchor="end">${escaped(title.replaceAll('`', ''))}</text>`,
    `  <rect x="${labelWidth}" y="${middle - barHeight / 2}" width="${(xOf(median) - labelWidth).toFixed(1)}" height="${barHeight}" fill="${fill}"/>`,
    `  <line x1="${at(min)}" x2="${at(max)}" y1="${middle}" y2="${middle}" stroke="#1f2328" stroke-width="1.5"/>`,
    `  <text class="figure" x="${(xOf(max) + 8).toFixed(1)}" y="${middle + 4}">${grouped(median, 0)}</text>`,
  ].join('\n');
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
