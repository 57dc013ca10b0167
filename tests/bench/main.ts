import { createProgram } from '../../infra/dev-servers/program.ts';
import { wholeNumber } from '../../services/cli/options.ts';
import { benchFollowing } from './following/following.ts';
import { benchProjecting } from './projecting/projecting.ts';
import { benchRepairing } from './repairing/repairing.ts';
import { benchServing } from './serving/serving.ts';

/**
 * `npm run bench -- projecting|following|repairing|serving` fails if a benchmark cannot measure, but never because of a
 * slow figure.
 */
const program = createProgram('npm run bench --');

const benchmarks = [
  ['projecting', 'compares the projector with other ways to write the same records', benchProjecting],
  ['following', 'measures how long events take until they can be read', benchFollowing],
  ['repairing', 'compares repairs of documents in place with a rebuild', benchRepairing],
  ['serving', 'compares the API with a bare server that answers the same requests', benchServing],
] as const;
for (const [name, description, bench] of benchmarks) {
  program
    .command(name)
    .description(description)
    .option('--quick', 'once, with little data, in a minute or two', false)
    .option('--rounds <number>', 'runs of each contender; default 3, with --quick 1', wholeNumber(100))
    .option('--write-docs', 'write the figures into docs/benchmarks.md', false)
    .action(({ quick, rounds = quick ? 1 : 3, writeDocs }) => bench({ quick, rounds, writeDocs }));
}

await program.parseAsync();
