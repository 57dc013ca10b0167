import {
  type AddHelpTextContext,
  type CommandUnknownOpts,
  InvalidArgumentError,
  Option,
} from '@commander-js/extra-typings';
import { nameLengthMax } from '../../shared/documents/fields.ts';

export const jsonOption = () => new Option('--json', 'print JSON');

/** Example command lines for the help of a verb, each after the name of the program. */
export const example =
  (...lines: string[]) =>
  ({ command }: AddHelpTextContext): string => {
    let program: CommandUnknownOpts = command;
    while (program.parent) program = program.parent;
    const commands = lines.map((line) => `  ${program.name()} ${line}\n`);
    return `\nExample${lines.length > 1 ? 's' : ''}:\n${commands.join('')}`;
  };

export const wholeNumber =
  (max: number, min = 1) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(
      `It takes a whole number ${max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `of ${min} or more`}.`,
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
