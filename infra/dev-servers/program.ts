import { Command } from '@commander-js/extra-typings';

/** A command line program of this folder. A usage error prints the help, and exits with code 2 as in the CLI. */
export const createProgram = (name: string) =>
  new Command(name)
    .helpCommand(false)
    .showHelpAfterError()
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
