import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import type { Expectation } from '../../operations/rebuild/differences.ts';
import { parseExpectation } from '../../operations/rebuild/expectations.ts';
import { example, jsonOption, wholeNumber } from '../options.ts';

type SwitchOptions = { acceptOlder: boolean; dryRun: boolean; timeout: number; why: string };

export type RebuildCommand = { json: boolean } & (
  | { verb: 'rebuild start'; acceptTruncated: boolean; pace?: number | undefined; why: string }
  | { verb: 'rebuild status'; watch: boolean }
  | { verb: 'rebuild history' }
  | { verb: 'rebuild await'; generation: number; maxBehind: number; timeout: number }
  | { verb: 'rebuild pace'; generation: number; pace: number | undefined }
  | { verb: 'rebuild compare'; generation: number; expectations: Expectation[] }
  | ({ verb: 'rebuild promote'; generation: number; allowRejects: boolean } & SwitchOptions)
  | ({ verb: 'rebuild rollback'; generation: number } & SwitchOptions)
  | {
      verb: 'rebuild drop';
      generation: number;
      force: boolean;
      dryRun: boolean;
      timeout: number;
      why: string;
    }
  | { verb: 'verify'; generation?: number | undefined; metrics?: string | undefined }
);

const number = wholeNumber(1_000_000);
const seconds = wholeNumber(1_000_000);
const paceMax = 10_000_000;
const why = (text: string) => new Option('--why <text>', 'the reason, for the history').default(text);
/** The text of an option of two verbs. */
const olderData =
  'accept data older than the data that is served; keys that were archived since then work again';
const timeout = (of: string, value: number) =>
  new Option('--timeout <seconds>', of).argParser(seconds).default(value);

/** Adds the verbs that build, prove, switch and drop generations. */
export function addRebuild(program: Command, accept: (command: RebuildCommand) => void): void {
  const group = program
    .command('rebuild')
    .helpCommand(false)
    .description('build the read model anew from the topics, beside the one that is served, and switch to it')
    .addHelpText(
      'after',
      '\nThe steps in their order: start, await, verify, promote, drop. See docs/rebuilding.md.\n',
    );
  addBuilding(group, accept);
  addComparing(group, accept);
  addSwitching(group, accept);
  program
    .command('verify')
    .description('compare the documents of one generation with a fresh join of the stored entities')
    .argument('[generation]', 'the active one by default', number)
    .option('--metrics <file>', 'write the result to this file, in the text format of Prometheus')
    .addOption(jsonOption())
    .addHelpText('after', '\nExit code 1 if documents differ.')
    .addHelpText('after', example('verify', 'verify --metrics /var/lib/node_exporter/support.prom'))
    .action((generation, { metrics, json = false }) => accept({ verb: 'verify', generation, metrics, json }));
}

function addBuilding(group: Command, accept: (command: RebuildCommand) => void): void {
  group
    .command('start')
    .description('check that a rebuild is safe, and register a new generation')
    .option(
      '--accept-truncated',
      'build even if the first records of a log are gone, or a topic is not compacted',
    )
    .option(
      '--pace <n>',
      'the maximum of records a second for each projector; 0 pauses the build',
      wholeNumber(paceMax, 0),
    )
    .addOption(why('a rebuild'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example('rebuild start', 'rebuild start --pace 2000 --why "tickets show their severity"'),
    )
    .action(({ acceptTruncated = false, pace, why: reason, json = false }) =>
      accept({ verb: 'rebuild start', acceptTruncated, pace, why: reason, json }),
    );
  group
    .command('status')
    .description('print each generation: its state, progress and rate, and why it waits')
    .option('--watch', 'print again every two seconds, until Ctrl-C')
    .addOption(jsonOption())
    .addHelpText('after', example('rebuild status', 'rebuild status --watch'))
    .action(({ watch = false, json = false }) => accept({ verb: 'rebuild status', watch, json }));
  group
    .command('pace')
    .description('limit the records a second that each projector of a generation applies')
    .argument('<generation>', 'its number', number)
    .argument('<records>', 'a whole number, 0 to pause, or none for no limit', paceOf)
    .addOption(jsonOption())
    .addHelpText('after', example('rebuild pace 2 500', 'rebuild pace 2 none'))
    .action((generation, pace, { json = false }) =>
      accept({ verb: 'rebuild pace', pace: pace === 'none' ? undefined : pace, generation, json }),
    );
  group
    .command('history')
    .description('print every change of a generation: who, when, from which state to which, and why')
    .addOption(jsonOption())
    .addHelpText('after', example('rebuild history'))
    .action(({ json = false }) => accept({ verb: 'rebuild history', json }));
}

function addComparing(group: Command, accept: (command: RebuildCommand) => void): void {
  group
    .command('await')
    .description('wait until a build is ready to be compared and promoted')
    .argument('<generation>', 'its number', number)
    .option('--max-behind <seconds>', 'the maximum lag behind the log', seconds, 10)
    .addOption(timeout('give up after this time', 3_600))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExit code 0 when it is ready, 1 when the time is up, 3 when waiting cannot help.',
    )
    .addHelpText('after', example('rebuild await 2 --timeout 7200'))
    .action((generation, { maxBehind, timeout: after, json = false }) =>
      accept({ verb: 'rebuild await', generation, maxBehind, timeout: after, json }),
    );
  group
    .command('compare')
    .description('compare every document of a generation with that of the active one, as readers see it')
    .argument('<generation>', 'its number', number)
    .option('--expect <kind:field>', 'an intended difference; may be repeated', expectationsOf)
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nA field is a path such as joined.tags or state.title, or a class: missing, extra, state, joined, sort-key, ' +
        'pending, refs, version.\nThe kind may be *. The result is kept, and a promotion needs it. Exit code 1 if documents differ.',
    )
    .addHelpText('after', example('rebuild compare 2', 'rebuild compare 2 --expect ticket:joined.tags'))
    .action((generation, { expect: expectations = [], json = false }) =>
      accept({ verb: 'rebuild compare', generation, expectations, json }),
    );
}

function addSwitching(group: Command, accept: (command: RebuildCommand) => void): void {
  const exitCodes =
    '\nExit code 0 when every live API replica serves it, 1 when a check fails, or when a replica does not follow in time.';
  group
    .command('promote')
    .description('serve a generation that is ready and compared; the active one becomes the standby')
    .argument('<generation>', 'its number', number)
    .option('--allow-rejects', 'accept dead letters that the active generation does not have')
    .option('--accept-older', olderData)
    .option('--dry-run', 'print the checks, but change nothing')
    .addOption(timeout('wait this long for the API replicas', 60))
    .addOption(why('a promotion'))
    .addOption(jsonOption())
    .addHelpText('after', exitCodes)
    .addHelpText('after', example('rebuild promote 2 --dry-run', 'rebuild promote 2'))
    .action(
      (generation, { allowRejects = false, acceptOlder = false, dryRun = false, json = false, ...rest }) =>
        accept({ verb: 'rebuild promote', generation, allowRejects, acceptOlder, dryRun, json, ...rest }),
    );
  group
    .command('rollback')
    .description('serve the standby again')
    .argument('<generation>', 'its number', number)
    .option('--accept-older', olderData)
    .option('--dry-run', 'print the checks, but change nothing')
    .addOption(timeout('wait this long for the API replicas', 60))
    .addOption(why('a rollback'))
    .addOption(jsonOption())
    .addHelpText('after', exitCodes)
    .addHelpText('after', example('rebuild rollback 1 --why "tickets lack their tags"'))
    .action((generation, { acceptOlder = false, dryRun = false, json = false, ...rest }) =>
      accept({ verb: 'rebuild rollback', generation, acceptOlder, dryRun, json, ...rest }),
    );
  group
    .command('drop')
    .description('remove a build or a standby: its group, progress and documents')
    .argument('<generation>', 'its number', number)
    .option('--force', 'drop a standby even if it is younger than 72 hours')
    .option('--dry-run', 'print the replicas that read it, but change nothing')
    .addOption(timeout('wait this long for its readers and projectors', 60))
    .addOption(why('a drop'))
    .addOption(jsonOption())
    .addHelpText('after', example('rebuild drop 1'))
    .action((generation, { force = false, dryRun = false, json = false, ...rest }) =>
      accept({ verb: 'rebuild drop', generation, force, dryRun, json, ...rest }),
    );
}

function paceOf(text: string): number | 'none' {
  return text === 'none' ? 'none' : wholeNumber(paceMax, 0)(text);
}

/** Parses `kind:field`, and appends it. */
function expectationsOf(text: string, before: Expectation[] | undefined): Expectation[] {
  const parsed = parseExpectation(text);
  if ('error' in parsed) throw new InvalidArgumentError(parsed.error);
  return [...(before ?? []), parsed];
}
