import { InvalidArgumentError, Option } from '@commander-js/extra-typings';

/** The `--json` option of every verb that has one. */
export const jsonOption = () => new Option('--json', 'print JSON');

/** Example command lines for the help of a verb. */
export const example = (...lines: string[]): string =>
  `\nExample${lines.length > 1 ? 's' : ''}:\n${lines.map((line) => `  npm run cli -- ${line}\n`).join('')}`;

/** Parses a whole number from 1 to `max`. */
export const wholeNumber =
  (max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= 1 && value <= max) return value;
    throw new InvalidArgumentError(
      `It takes a whole number ${Number.isSafeInteger(max) && max < Number.MAX_SAFE_INTEGER ? `from 1 to ${max}` : 'of 1 or more'}.`,
    );
  };
