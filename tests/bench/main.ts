import { Command, Option } from '@commander-js/extra-typings';
import { wholeNumber } from '../../services/cli/options.ts';
import { benchMemory } from './memory.ts';
import { benchProjecting } from './projecting/projecting.ts';
import { benchRebuild } from './rebuild/rebuild.ts';
import { benchServing } from './serving/serving.ts';
import { benchSizes } from './sizes.ts';

/** `npm run bench`: fails if something cannot be measured, never because of a time. */
const program = new Command('npm run bench --').helpCommand(false).showHelpAfterError('Help: --help');

const measured = (name: string, description: string, isDefault = false) =>
  program
    .command(name, { isDefault })
    .description(description)
    .option('--quick', 'once, with little data, in one or two minutes')
    .option('--rounds <number>', 'runs of each contender; default 3, with --quick 1', wholeNumber(100))
    .option('--json <file>', 'write every figure to this file');

const counted = <Options extends { quick?: true; rounds?: number }>(options: Options) => ({
  ...options,
  rounds: options.rounds ?? (options.quick ? 1 : 3),
});

const writeDocs = (page: string) =>
  new Option('--write-docs', `write the figures into ${page}`).conflicts(['quick']);

measured('projecting', 'compares the projector with other ways to write the same records', true)
  .addOption(writeDocs('docs/benchmarks.md'))
  .action((options) => benchProjecting(counted(options)));

measured('rebuild', 'measures a rebuild beside a generation that is served and follows live changes')
  .option('--records <number>', 'records to rebuild from', wholeNumber(10_000_000, 1_000))
  .addOption(writeDocs('docs/benchmarks-rebuild.md'))
  .action((options) => benchRebuild(counted(options)));

program
  .command('memory')
  .description('measures the memory of a projector with 132 partitions, gzip and a slow store')
  .option('--records <number>', 'records of the backlog', wholeNumber(10_000_000, 1_000), 1_000_000)
  .option('--delay <milliseconds>', 'the store answers late by this', wholeNumber(60_000), 1_500)
  .action(benchMemory);

measured('sizes', 'measures how large the documents are')
  .addOption(writeDocs('docs/capacity.md'))
  .action((options) => benchSizes(counted(options)));

measured('serving', 'compares the API with other ways to answer the same requests')
  .option('--connections <number>', 'keep-alive connections of the client', wholeNumber(1_000), 32)
  .addOption(writeDocs('docs/benchmarks-serving.md'))
  .action((options) => benchServing(counted(options)));

await program.parseAsync();
