import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import type { Expectation } from '../../projector/generations/differences.ts';
import { example, jsonOption, wholeNumber } from '../options.ts';

type SwitchOptions = { acceptOlder: boolean; dryRun: boolean; timeout: number; why: string };

/** `generation` is absent where the verb finds it itself: the build, or the latest standby. */
export type RebuildCommand = { json: boolean } & (
  | { verb: 'rebuild start'; acceptTruncated: boolean; pace?: number | undefined; why: string }
  | { verb: 'rebuild status'; watch: boolean }
  | { verb: 'rebuild history' }
  | { verb: 'rebuild await'; generation?: number | undefined; maxBehind: number; timeout: number }
  | { verb: 'rebuild pause' | 'rebuild resume' | 'rebuild release'; generation?: number | undefined }
  | { verb: 'rebuild hold'; generation?: number | undefined; why: string }
  | { verb: 'rebuild pace'; generation?: number | undefined; pace: number | undefined }
  | { verb: 'rebuild verify'; generation?: number | undefined; expectations: Expectation[] }
  | ({ verb: 'rebuild promote'; generation?: number | undefined; allowRejects: boolean } & SwitchOptions)
  | ({ verb: 'rebuild rollback'; generation?: number | undefined } & SwitchOptions)
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
const why = (text: string) => new Option('--why <text>', 'the reason, for the history').default(text);
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
  addSteering(group, accept);
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
    .option('--accept-truncated', 'build although records at the beginning of the log are gone')
    .option('--pace <n>', 'records a second that each projector applies at most', wholeNumber(10_000_000))
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
    .description('print each generation: its state, how far it is, how fast, and what it waits for')
    .option('--watch', 'print again every two seconds, until Ctrl-C')
    .addOption(jsonOption())
    .addHelpText('after', example('rebuild status', 'rebuild status --watch'))
    .action(({ watch = false, json = false }) => accept({ verb: 'rebuild status', watch, json }));
  group
    .command('await')
    .description('wait until a build is ready to be verified and promoted')
    .argument('[generation]', 'the one that is being built by default', number)
    .option('--max-behind <seconds>', 'behind the log by this at most', seconds, 10)
    .addOption(timeout('give up after this time', 3_600))
    .addOption(jsonOption())
    .addHelpText('after', '\nExit code 0 when it is ready, 1 when the time is up, 3 when the build fails.')
    .addHelpText('after', example('rebuild await --timeout 7200'))
    .action((generation, { maxBehind, timeout: after, json = false }) =>
      accept({ verb: 'rebuild await', generation, maxBehind, timeout: after, json }),
    );
  group
    .command('verify')
    .description('compare every document of a generation with the active one, as readers see it')
    .argument('[generation]', 'the one that is being built by default', number)
    .option('--expect <kind:field>', 'an intended difference; may be repeated', expectationsOf)
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nA field is a path such as joined.tags or state.title, or a class: missing, extra, state, joined, sort-key, ' +
        'pending.\nThe kind may be *. The result is kept, and a promotion needs it. Exit code 1 if documents differ.',
    )
    .addHelpText('after', example('rebuild verify', 'rebuild verify --expect ticket:joined.severity'))
    .action((generation, { expect: expectations = [], json = false }) =>
      accept({ verb: 'rebuild verify', generation, expectations, json }),
    );
}

function addSteering(group: Command, accept: (command: RebuildCommand) => void): void {
  const texts = {
    pause: 'stop applying records to a generation, without stopping its projectors',
    resume: 'apply records again after a pause',
    release: 'allow the promotion of a generation that is held',
  };
  for (const verb of ['pause', 'resume', 'release'] as const)
    group
      .command(verb)
      .description(texts[verb])
      .argument('[generation]', 'the one that is being built by default', number)
      .addOption(jsonOption())
      .addHelpText('after', example(`rebuild ${verb}`))
      .action((generation, { json = false }) => accept({ verb: `rebuild ${verb}`, generation, json }));
  group
    .command('pace')
    .description('limit the records a second that each projector of a generation applies')
    .argument('<records>', 'a whole number, or none', paceOf)
    .argument('[generation]', 'the one that is being built by default', number)
    .addOption(jsonOption())
    .addHelpText('after', example('rebuild pace 500', 'rebuild pace none'))
    .action((pace, generation, { json = false }) =>
      accept({ verb: 'rebuild pace', pace: pace === 'none' ? undefined : pace, generation, json }),
    );
  group
    .command('hold')
    .description('forbid the promotion of a generation')
    .argument('[generation]', 'the one that is being built by default', number)
    .addOption(why('held by an operator'))
    .addOption(jsonOption())
    .addHelpText('after', example('rebuild hold --why "not before Monday"'))
    .action((generation, { why: reason, json = false }) =>
      accept({ verb: 'rebuild hold', generation, why: reason, json }),
    );
  group
    .command('history')
    .description('print every change of a generation: who, when, from what to what, and why')
    .addOption(jsonOption())
    .addHelpText('after', example('rebuild history'))
    .action(({ json = false }) => accept({ verb: 'rebuild history', json }));
}

function addSwitching(group: Command, accept: (command: RebuildCommand) => void): void {
  const exitCodes =
    '\nExit code 0 when every live API replica serves it, 1 when it is refused, or when a replica does not follow in time.';
  group
    .command('promote')
    .description('serve a generation that is ready and verified; the one before becomes the standby')
    .argument('[generation]', 'the one that is being built by default', number)
    .option('--allow-rejects', 'although it rejects records that the active generation has applied')
    .option('--accept-older', 'although it is behind what is served')
    .option('--dry-run', 'print the checks, but change nothing')
    .addOption(timeout('wait this long for the API replicas', 60))
    .addOption(why('a promotion'))
    .addOption(jsonOption())
    .addHelpText('after', exitCodes)
    .addHelpText('after', example('rebuild promote --dry-run', 'rebuild promote'))
    .action(
      (generation, { allowRejects = false, acceptOlder = false, dryRun = false, json = false, ...rest }) =>
        accept({ verb: 'rebuild promote', generation, allowRejects, acceptOlder, dryRun, json, ...rest }),
    );
  group
    .command('rollback')
    .description('serve the standby again')
    .argument('[generation]', 'the standby that was active last by default', number)
    .option('--accept-older', 'although it is behind what is served')
    .option('--dry-run', 'print the checks, but change nothing')
    .addOption(timeout('wait this long for the API replicas', 60))
    .addOption(why('a rollback'))
    .addOption(jsonOption())
    .addHelpText('after', exitCodes)
    .addHelpText('after', example('rebuild rollback --why "tickets lack their tags"'))
    .action((generation, { acceptOlder = false, dryRun = false, json = false, ...rest }) =>
      accept({ verb: 'rebuild rollback', generation, acceptOlder, dryRun, json, ...rest }),
    );
  group
    .command('drop')
    .description('remove a build or a standby: its group, progress and documents')
    .argument('<generation>', 'its number', number)
    .option('--force', 'although a standby is younger than 72 hours')
    .option('--dry-run', 'print who reads it, but change nothing')
    .addOption(timeout('wait this long for its readers and projectors', 60))
    .addOption(why('a drop'))
    .addOption(jsonOption())
    .addHelpText('after', example('rebuild drop 1'))
    .action((generation, { force = false, dryRun = false, json = false, ...rest }) =>
      accept({ verb: 'rebuild drop', generation, force, dryRun, json, ...rest }),
    );
}

function paceOf(text: string): number | 'none' {
  return text === 'none' ? 'none' : wholeNumber(10_000_000)(text);
}

/** Parses `kind:field`, and adds it to those before. */
function expectationsOf(text: string, before: Expectation[] | undefined): Expectation[] {
  const [, kind = '', field = ''] = /^([A-Za-z]+|\*):([A-Za-z][A-Za-z.-]*)$/.exec(text) ?? [];
  if (kind !== '*' && !kinds.includes(kind as Kind))
    throw new InvalidArgumentError(
      `It takes kind:field, with one of these kinds: ${kinds.join(', ')}, or *.`,
    );
  return [...(before ?? []), { kind: kind as Kind | '*', field }];
}
