import type { Row } from '../operations/row.ts';
import { digits } from '../../shared/runtime/counted.ts';
import type { Output } from './context.ts';

export type Json = { json?: true | undefined };

/** JSON for people and programs: one value, on several lines. */
export const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** The value as JSON if the operator asked for it, else the text. */
export const output = (
  { json }: Json,
  value: unknown,
  text: string,
  exitCode: Output['exitCode'] = 0,
): Output => ({ text: json ? asJson(value) : text, exitCode });

/** A line of progress, which whatever is printed next overwrites: another one, or an error. */
export const progressLine = (done: number, total: number): string =>
  `${digits(done)} of ${digits(total)}${done >= total ? '\n' : '\r'}`;

/** One line for each known value, aligned, after `indent`. */
export const rows = (all: Row[], indent = ''): string =>
  all.flatMap(([name, value]) => (value === null ? [] : [`${indent}${name.padEnd(12)} ${value}\n`])).join('');

/** Pads columns to their widest cell. The first column is text, and with `isLastText` the last; the others are numbers. */
export function table(head: string[], rows: string[][], { isLastText = false } = {}): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) =>
        column === 0 || (isLastText && column === head.length - 1)
          ? cell.padEnd(widths[column] ?? 0)
          : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return `${[head, ...rows].map(line).join('\n')}\n`;
}
