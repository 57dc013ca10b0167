import type { Goal } from './goal.ts';
import type { Spread } from './statistics.ts';

/** The median, followed by the minimum and the maximum if they differ. */
export function formatted(spread: Spread | null, digits: number): string {
  if (!spread) return '–';
  const [median, min, max] = [spread.median, spread.min, spread.max].map((value) => grouped(value, digits));
  return min === max ? `${median}` : `${median} (${min}–${max})`;
}

export const grouped = (value: number, digits: number): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A table whose first `leftColumns` columns hold text, aligned left. Figures are aligned right. */
export function markdownTable(header: string[], rows: string[][], leftColumns: number): string {
  const widths = header.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const isLeft = (column: number) => column < leftColumns;
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  const padded = (row: string[]) =>
    line(
      row.map((cell, column) =>
        isLeft(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      ),
    );
  const rule = line(
    widths.map((width, column) => (isLeft(column) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)),
  );
  return [padded(header), rule, ...rows.map(padded)].join('\n');
}

export const goalTable = (goals: Goal[]): string =>
  markdownTable(
    ['goal', 'figure', 'met'],
    goals.map(({ goal, figure, unit, met }) => [
      goal,
      figure === null ? '–' : `${grouped(figure, 2)}${unit}`,
      met === null ? 'not measured' : met ? 'yes' : 'no',
    ]),
    1,
  );
