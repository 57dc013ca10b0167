import {
  type AddHelpTextContext,
  type CommandUnknownOpts,
  InvalidArgumentError,
  Option,
} from '@commander-js/extra-typings';
import { nameLengthMax } from '../../shared/documents/fields.ts';
import { lines } from './output.ts';

export const jsonOption = () => new Option('--json', 'print JSON');

/** Help text with example command lines, each after the name of the program. For `addHelpText`. */
export const exampleHelp =
  (...commands: string[]) =>
  ({ command }: AddHelpTextContext): string => {
    let program: CommandUnknownOpts = command;
    while (program.parent) program = program.parent;
    const examples = commands.map((text) => `  ${program.name()} ${text}`);
    return `\nExample${commands.length > 1 ? 's' : ''}:\n${lines(examples)}`;
  };

/** A number of 15 digits is always a safe integer. */
const safeDigits = /^\d{1,15}$/;

/** A parser of whole numbers. A maximum of `Number.MAX_SAFE_INTEGER` is no limit for the user. */
export const wholeNumber =
  (max: number, min = 1) =>
  (text: string): number => {
    const value = Number(text);
    if (safeDigits.test(text) && value >= min && value <= max) return value;
    const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `of ${min} or more`;
    throw new InvalidArgumentError(`It takes a whole number ${range}.`);
  };

export function parseOrgId(text: string): string {
  if (/^org_./.test(text)) return text;
  throw new InvalidArgumentError('An organization id looks like org_1.');
}

/** The length of the longest reason: the history keeps a thousand reasons in one document of at most 16 MB. */
const whyLengthMax = 500;

/** The option for the reason that a verb stores. */
export const whyOption = (description: string) => new Option('--why <text>', description).argParser(parseWhy);

function parseWhy(text: string): string {
  if (text.trim() !== '' && text.length <= whyLengthMax) return text;
  throw new InvalidArgumentError(`A reason has 1 to ${whyLengthMax} characters.`);
}

export function parseName(text: string): string {
  if (text.trim() !== '' && text.length <= nameLengthMax) return text;
  throw new InvalidArgumentError(`A name has 1 to ${nameLengthMax} characters.`);
}
