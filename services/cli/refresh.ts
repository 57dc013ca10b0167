import { Argument, type Command, Option } from '@commander-js/extra-typings';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { counted, digits } from '../../shared/runtime/counted.ts';
import { refresh as refreshDocuments } from '../operations/refresh/refresh.ts';
import type { RefreshResult } from '../operations/refresh/result.ts';
import { type Accept, type Context, UsageError } from './context.ts';
import { onMongo, outputOfRefusal } from './operate.ts';
import { example, jsonOption, wholeNumber } from './options.ts';
import { type Json, lines, output } from './output.ts';

export function addRefresh(program: Command, accept: Accept): void {
  program
    .command('refresh')
    .description('join documents of the served generation again, and write those that are wrong')
    .addArgument(new Argument('<kind>', 'of the documents').choices(kinds))
    .argument('[ids...]', 'their ids')
    .option('--all', 'all documents of the kind; an interrupted run is continued by the next one')
    .option('--from-start', 'with --all: begin again, even if a run was interrupted')
    .option('--dry-run', 'count and show the documents that would change, but change nothing')
    .option('--pace <documents>', 'the most documents a second, for busy hours', wholeNumber(1_000_000))
    .option(
      '--timeout <seconds>',
      'how long projectors of another release may take to end',
      wholeNumber(86_400),
      60,
    )
    .addOption(new Option('--why <text>', 'the reason, for the history').default('a refresh'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nProjectors and readers go on meanwhile. Exit code 1 if a document stays wrong, or an id names none.',
    )
    .addHelpText(
      'after',
      example(
        'refresh ticket ti_1 ti_2',
        'refresh ticket --all --dry-run',
        'refresh ticket --all --pace 500 --why "tickets show the company"',
      ),
    )
    .action((kind, ids, options) => accept(refresh, { kind, ids, ...options }));
}

type Flag = true | undefined;
type Options = Json & {
  kind: Kind;
  ids: string[];
  all?: Flag;
  fromStart?: Flag;
  dryRun?: Flag;
  pace?: number | undefined;
  timeout: number;
  why: string;
};

async function refresh(context: Context, options: Options) {
  const { kind, ids, all, fromStart, dryRun = false, pace, timeout, why } = options;
  if (all ? ids.length > 0 : ids.length === 0)
    throw new UsageError('refresh takes the ids of documents, or --all');
  if (fromStart && !all) throw new UsageError('--from-start belongs to --all');
  const connected = onMongo<Options>(async (deps) => {
    const chosen = { ids: all ? undefined : ids, fromStart, dryRun, pace, why };
    const result = await refreshDocuments(deps, kind, { ...chosen, timeoutSeconds: timeout });
    const exitCode = result.left > 0 || result.absent.length > 0 ? 1 : 0;
    return output(options, result, render(result), exitCode);
  });
  return connected(context, options).catch(outputOfRefusal(context, options));
}

function render(result: RefreshResult): string {
  const { generation, kind, dryRun, read, changed, fields, samples, left, leftSamples, absent } = result;
  const change = dryRun ? 'would change' : 'changed';
  return lines([
    `generation ${generation}: ${counted(read, `${kind} document`)} read, ${digits(changed)} ${change}`,
    ...Object.entries(fields).map(([field, count]) => `  ${digits(count)} in ${field}`),
    ...samples.map(({ id, fields: wrong }) => `  ${id}  ${wrong.join(', ')}`),
    ...(left > 0 ? [`${digits(left)} left as they are:`] : []),
    ...leftSamples.map(({ id, reason }) => `  ${id}  ${reason}`),
    ...absent.map((id) => `  ${id}  there is no such document, or it was deleted`),
    ...(dryRun ? ['dry run: nothing was changed'] : []),
  ]);
}
