import { Argument, type Command } from '@commander-js/extra-typings';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { counted, digits } from '../../shared/runtime/counted.ts';
import type { DifferingDocument, VerifyResult } from '../operations/verify/result.ts';
import { verify as verifyDocuments } from '../operations/verify/verify.ts';
import { type Context, type Output, type SelectVerb, UsageError } from './context.ts';
import { outputRefusal, type ServedDeps, withReadModel } from './operate.ts';
import { exampleHelp, jsonOption, wholeNumber, whyOption } from './options.ts';
import { type Flag, inOneColumn, type Json, lines, output } from './output.ts';

export function addVerify(program: Command, select: SelectVerb): void {
  program
    .command('verify')
    .description('compare documents of the served generation with a fresh join of the stored entities')
    .addArgument(new Argument('[kind]', 'of the documents; by default, all').choices(kinds))
    .argument('[ids...]', 'their ids; by default, all of the kind')
    .option('--repair', 'write the documents that differ')
    .option('--pace <documents>', 'the most documents a second, for busy hours', wholeNumber(1_000_000))
    .option('--after <id>', 'continue after this document of the kind, as an earlier run has printed')
    .option(
      '--timeout <seconds>',
      'with --repair: how long projectors of another release may take to end',
      wholeNumber(86_400),
      60,
    )
    .addOption(whyOption('the reason of a repair, for the history').default('a repair'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nProjectors and readers continue meanwhile. Exit code 1 if a document differs, or with --repair still differs, and if an id names no document.',
    )
    .addHelpText(
      'after',
      exampleHelp(
        'verify',
        'verify --repair',
        'verify ticket --repair --pace 500 --why "tickets show the company"',
        'verify ticket ti_1 ti_2',
      ),
    )
    .action((kind, ids, options) => select(verify, { kind, ids, ...options }));
}

type Options = Json & {
  kind?: Kind | undefined;
  ids: string[];
  repair?: Flag;
  pace?: number | undefined;
  after?: string | undefined;
  timeout: number;
  why: string;
};

async function verify(context: Context, options: Options): Promise<Output> {
  const { kind, ids, after } = options;
  if (after !== undefined && (!kind || ids.length > 0))
    throw new UsageError('--after takes a kind, and no ids');
  return outputRefusal(context, options, () =>
    withReadModel(context, (deps) => printVerified(deps, options)),
  );
}

async function printVerified(deps: ServedDeps, options: Options): Promise<Output> {
  const { kind, ids, repair: isRepair = false, timeout: timeoutSeconds } = options;
  const result = await verifyDocuments(deps, { ...options, isRepair, timeoutSeconds });
  if (!isRepair && result.differing > 0) {
    const command = [deps.cli, 'verify', ...(kind ? [kind, ...ids] : []), '--repair'];
    deps.report(`to join the wrong documents again: ${command.join(' ')}`);
  }
  const areAllRight = result.differing === result.repaired && result.absent.length === 0;
  return output(options, result, renderVerified(result, options), areAllRight ? 0 : 1);
}

export function renderVerified(
  result: VerifyResult,
  { kind, repair }: Pick<Options, 'kind' | 'repair'>,
): string {
  const { generation, compared, differing, repaired, fields, samples, absent } = result;
  const documents = counted(compared, kind ? `${kind} document` : 'document');
  const outcome = repair ? `, ${digits(repaired)} repaired` : '';
  return lines([
    `generation ${generation}: ${documents} compared, ${digits(differing)} differ${outcome}`,
    ...Object.entries(fields).map(([field, count]) => `  ${digits(count)} ${field}`),
    ...samples.map(renderDiffering),
    ...absent.map((id) => `  ${inOneColumn(id)}  there is no such document, or it was deleted`),
  ]);
}

const renderDiffering = ({ kind, id, fields, reason }: DifferingDocument): string =>
  [`  ${kind} ${inOneColumn(id)}`, fields.join(', '), reason ?? ''].filter(Boolean).join('  ');
