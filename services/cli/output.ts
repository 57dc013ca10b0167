import { digits } from '../../shared/runtime/counted.ts';
import type { Row } from '../operations/row.ts';
import type { Output } from './context.ts';

/** An option without a value. */
export type Flag = true | undefined;

export type Json = { json?: Flag };

/**
 * Matches a character that a terminal shows as it is: a letter, a mark, a number, punctuation, a symbol or the blank.
 * Does not match invisible characters, such as a soft hyphen or the empty Braille pattern.
 */
const shownCharacter = String.raw`(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{M}\p{N}\p{P}\p{S} ]`;
const hiddenCharacters = new RegExp(`(?!${shownCharacter}|\n)[^]`, 'gu');

/** A character as JSON escapes it. A character beyond U+FFFF has two escapes. */
const escapeCharacter = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/**
 * The text with escapes in place of invisible characters. A name from Kafka could otherwise hide rows or change the
 * title of the terminal. JSON keeps its value.
 */
export const escapeHidden = (text: string): string => text.replace(hiddenCharacters, escapeCharacter);

/** A value from Kafka on one line of text. A line end in it would look like the end of a row. */
export const onOneLine = (value: string): string => value.replaceAll('\n', escapeCharacter);

/**
 * Matches a value that a column can show as it is. A mark at its beginning would be drawn over the blank before it.
 */
const fitsOneColumn = new RegExp(`^(?!\\p{M})(?:(?!"| {2})${shownCharacter})+(?<! )$`, 'u');

/**
 * A value for a table whose columns are separated by two blanks. A value with a quote, with invisible characters or
 * with blanks that could look like a separator is shown in quotes, so that two different values never look alike.
 */
export const inOneColumn = (value: string): string =>
  fitsOneColumn.test(value) && !value.startsWith(' ') ? value : JSON.stringify(value);

/** Puts each text on one line, even if an id, a name or a reason in it contains a line end. */
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

/** A line of progress, which the next line of progress or an error overwrites. */
export const progressLine = (done: number, total: number): string =>
  `${digits(done)} of ${digits(total)}${done >= total ? '\n' : '\r'}`;

/** One aligned line for each known value, indented by `indent`. */
export const rows = (valueRows: Row[], indent = ''): string =>
  lines(
    valueRows.flatMap(([name, value]) =>
      value === null ? [] : [`${indent}${onOneLine(name).padEnd(12)} ${value}`],
    ),
  );

/**
 * Pads columns to their widest cell. The first column contains texts, and so does the last one with `isLastText`; the
 * others contain numbers.
 */
export function table(head: string[], values: string[][], { isLastText = false } = {}): string {
  const cleanRows = values.map((cells) => cells.map(onOneLine));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cleanRows.map((row) => row[column]?.length ?? 0)),
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
  return lines([head, ...cleanRows].map(line));
}
