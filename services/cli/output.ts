import { digits } from '../../shared/runtime/counted.ts';
import type { Row } from '../operations/row.ts';
import type { Output } from './context.ts';

export type Json = { json?: true | undefined };

/**
 * Characters that a terminal shows as they are: letters, marks, numbers, punctuation, symbols and the blank, except
 * invisible ones, such as a soft hyphen or the empty Braille pattern.
 */
const shown = String.raw`(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{M}\p{N}\p{P}\p{S} ]`;
const unshown = new RegExp(`(?!${shown}|\n)[^]`, 'gu');

/** A character as JSON escapes it: beyond the first 65,536 in two parts. */
const escaped = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/**
 * The text for a terminal. A name from the bus could otherwise hide rows or set the title of the window. JSON stays the
 * same value.
 */
export const printable = (text: string): string => text.replace(unshown, escaped);

/** A value from the bus for one line of text: a line end in it would look like the end of a row. */
export const onOneLine = (value: string): string => value.replaceAll('\n', escaped);

/** A mark at the beginning would be drawn over the blank before it. */
const oneColumn = new RegExp(`^(?!\\p{M})(?:(?!"| {2})${shown})+(?<! )$`, 'u');

/**
 * A value for columns that two blanks part: in quotes unless it is shown as it is, is not empty and holds no quote, and
 * has blanks only singly and inside. So two values that differ never look alike.
 */
export const inOneColumn = (value: string): string =>
  oneColumn.test(value) && !value.startsWith(' ') ? value : JSON.stringify(value);

/** Each text on one line, whatever the ids, names and reasons in it hold. */
export const lines = (texts: string[]): string => texts.map((text) => `${onOneLine(text)}\n`).join('');

/** JSON for people and programs: one value, on several lines. */
export const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** The value as JSON if the operator asked for it, else the text. */
export const output = (
  { json }: Json,
  value: unknown,
  text: string,
  exitCode: Output['exitCode'] = 0,
): Output => ({ text: json ? asJson(value) : text, exitCode });

/** A line of progress. The next output, another such line or an error, overwrites it. */
export const progressLine = (done: number, total: number): string =>
  `${digits(done)} of ${digits(total)}${done >= total ? '\n' : '\r'}`;

/** One line for each known value, aligned, after `indent`. */
export const rows = (all: Row[], indent = ''): string =>
  lines(
    all.flatMap(([name, value]) =>
      value === null ? [] : [`${indent}${onOneLine(name).padEnd(12)} ${value}`],
    ),
  );

/**
 * Pads columns to their widest cell. The first column is text, and with `isLastText` the last; the others are numbers.
 */
export function table(head: string[], values: string[][], { isLastText = false } = {}): string {
  const rows = values.map((cells) => cells.map(onOneLine));
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
  return lines([head, ...rows].map(line));
}
