import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { nameLengthMax } from '../../shared/documents/fields.ts';
import { programName } from '../operations/program-name.ts';

/** The `--json` option of every verb that has one. */
export const jsonOption = () => new Option('--json', 'print JSON');

/** Example command lines for the help of a verb. */
export const example = (...lines: string[]): string =>
  `\nExample${lines.length > 1 ? 's' : ''}:\n${lines.map((line) => `  ${programName} ${line}\n`).join('')}`;

/** Parses a whole number from `min` to `max`. */
export const wholeNumber =
  (max: number, min = 1) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(
      `It takes a whole number ${Number.isSafeInteger(max) && max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `of ${min} or more`}.`,
    );
  };

export function orgIdOf(text: string): string {
  if (/^org_./.test(text)) return text;
  throw new InvalidArgumentError('An organization id looks like org_1.');
}

export function nameOf(text: string): string {
  if (text.trim() !== '' && text.length <= nameLengthMax) return text;
  throw new InvalidArgumentError(`A name has 1 to ${nameLengthMax} characters.`);
}
