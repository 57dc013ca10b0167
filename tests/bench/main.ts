import { Command } from '@commander-js/extra-typings';
import { wholeNumber } from '../../services/cli/options.ts';
import { benchProjecting } from './projecting/projecting.ts';
import { benchServing } from './serving/serving.ts';

/** `npm run bench -- projecting|serving`: fails if something cannot be measured, never because of a time. */
const program = new Command('npm run bench --').helpCommand(false).showHelpAfterError('Help: --help');

const measured = (name: string, description: string) =>
  program
    .command(name)
    .description(description)
    .option('--quick', 'once, with little data, in a minute or two', false)
    .option('--rounds <number>', 'runs of each contender; default 3, with --quick 1', wholeNumber(100))
    .option('--write-docs', 'write the figures into docs/benchmarks.md', false);

measured('projecting', 'compares the projector with other ways to write the same records').action((options) =>
  benchProjecting({ ...options, rounds: options.rounds ?? (options.quick ? 1 : 3) }),
);

measured('serving', 'compares the API with a bare server that answers the same requests').action((options) =>
  benchServing({ ...options, rounds: options.rounds ?? (options.quick ? 1 : 3) }),
);

await program.parseAsync();
