import { Command, InvalidArgumentError } from '@commander-js/extra-typings';

/** A command line program of this folder. A usage error prints the help, and exits with code 2 as in the CLI. */
export const createProgram = (name: string) =>
  new Command(name)
    .helpCommand(false)
    .showHelpAfterError()
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));

/** Parses a whole number below 1,000,000,000. */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It takes a whole number below 1,000,000,000.');
}
