import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Expectation } from '../../operations/rebuild/differences.ts';
import { parseExpectation } from '../../operations/rebuild/expectations.ts';
import type { SelectVerb } from '../context.ts';
import { exampleHelp, jsonOption, wholeNumber, whyOption } from '../options.ts';
import { keeps } from './keeps.ts';
import * as verbs from './verbs.ts';

const generationNumber = wholeNumber(1_000_000);
const timeoutSeconds = wholeNumber(1_000_000);
const whyWithDefault = (text: string) => whyOption('the reason, for the history').default(text);
const timeoutOption = (description: string, defaultSeconds: number) =>
  new Option('--timeout <seconds>', description).argParser(timeoutSeconds).default(defaultSeconds);

export function addRebuild(program: Command, select: SelectVerb): void {
  const group = program
    .command('rebuild')
    .helpCommand(false)
    .description('build a new generation of the read model next to the active one, then switch to it')
    .addHelpText(
      'after',
      '\nThe steps in their order: start, await, compare, promote, drop. See docs/rebuilding.md.\n',
    );
  addBuilding(group, select);
  addComparing(group, select);
  addSwitching(group, select);
  addKeeping(group, select);
}

function addBuilding(group: Command, select: SelectVerb): void {
  group
    .command('start')
    .description('check that a rebuild is safe, and register a new generation')
    .addOption(whyWithDefault('a rebuild'))
    .addOption(jsonOption())
    .addHelpText('after', exampleHelp('rebuild start', 'rebuild start --why "tickets show their severity"'))
    .action((options) => select(verbs.start, options));
  group
    .command('status')
    .description('print the verdict, the findings with their fixes, and each generation with its progress')
    .option('--watch', 'print again every two seconds, until Ctrl-C')
    .addOption(jsonOption())
    .addHelpText('after', exampleHelp('rebuild status', 'rebuild status --watch'))
    .action((options) => select(verbs.status, options));
  group
    .command('history')
    .description('print every change of a generation: who, when, from which state to which, and why')
    .addOption(jsonOption())
    .addHelpText('after', exampleHelp('rebuild history'))
    .action((options) => select(verbs.history, options));
}

function addComparing(group: Command, select: SelectVerb): void {
  group
    .command('await')
    .description('wait until a build is ready to be compared and promoted')
    .argument('<generation>', 'its number', generationNumber)
    .addOption(timeoutOption('give up after this time', 3_600))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExit code 0 when it is ready, 1 when the time is up, 3 when waiting cannot help.',
    )
    .addHelpText('after', exampleHelp('rebuild await 2 --timeout 7200'))
    .action((generation, options) => select(verbs.awaitGeneration, { generation, ...options }));
  group
    .command('compare')
    .description('compare every document of a generation with that of the active one, as the API presents it')
    .argument('<generation>', 'its number', generationNumber)
    .option('--expect <kind:field>', 'an intended difference; may be repeated', parseExpectations)
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nA field is a path such as joined.tags or state.title, or a class: missing, extra, state, joined, sort-key, ' +
        'pending, refs, version, unreadable.\nThe kind may be *. The result is stored, and a promotion needs it. Exit code 1 if documents differ.',
    )
    .addHelpText('after', exampleHelp('rebuild compare 2', 'rebuild compare 2 --expect ticket:joined.tags'))
    .action((generation, options) => select(verbs.compare, { generation, ...options }));
}

function addSwitching(group: Command, select: SelectVerb): void {
  const switching = (step: 'promote' | 'rollback', reason: string) =>
    group
      .command(step)
      .argument('<generation>', 'its number', generationNumber)
      .option('--dry-run', 'print the checks, but change nothing')
      .addOption(
        timeoutOption(
          'wait this long for the generation to reach the active one, and then for the API replicas',
          60,
        ),
      )
      .addOption(whyWithDefault(reason))
      .addOption(jsonOption())
      .addHelpText(
        'after',
        '\nExit code 0 when every live API replica serves it, 1 when a check fails or a replica does not follow in time.',
      )
      .action((generation, options) => select(verbs[step], { generation, ...options }));
  switching('promote', 'a promotion')
    .description('serve a generation that is ready and compared; the active one becomes the standby')
    .addHelpText('after', exampleHelp('rebuild promote 2 --dry-run', 'rebuild promote 2'));
  switching('rollback', 'a rollback')
    .description('serve the standby again')
    .addHelpText('after', exampleHelp('rebuild rollback 1 --why "tickets lack their tags"'));
  group
    .command('drop')
    .description('remove a build or a standby: its group, progress and documents')
    .argument('<generation>', 'its number', generationNumber)
    .option('--force', 'drop a standby even if the API served it in the last 72 hours')
    .option('--dry-run', 'make the checks, but change nothing')
    .addOption(timeoutOption('wait this long for its readers and projectors', 60))
    .addOption(whyWithDefault('a drop'))
    .addOption(jsonOption())
    .addHelpText('after', exampleHelp('rebuild drop 1'))
    .action((generation, options) => select(verbs.drop, { generation, ...options }));
}

function addKeeping(group: Command, select: SelectVerb): void {
  group
    .command('keeps')
    .description(
      'fail if the active generation is not among these; the chart runs it before an upgrade or rollback',
    )
    .argument('[generations...]', 'the numbers of those that have projectors; may be none')
    .addOption(jsonOption())
    .addHelpText('after', '\nExit code 0 also if MongoDB does not answer: nothing is known then.')
    .addHelpText('after', exampleHelp('rebuild keeps 1 2'))
    .action((generations, options) => select(keeps, { kept: generations.map(generationNumber), ...options }));
}

/** Parses `kind:field`, and appends it. */
function parseExpectations(text: string, previous: Expectation[] = []): Expectation[] {
  const parsed = parseExpectation(text);
  if ('error' in parsed) throw new InvalidArgumentError(parsed.error);
  return [...previous, parsed];
}
