import type { Command } from '@commander-js/extra-typings';
import { generationDatabase } from '../../shared/store/connection.ts';
import { type Counts, pendingText, readCounts } from '../operations/counts.ts';
import { type Report, watchReports } from '../operations/report.ts';
import type { Context, Output, SelectVerb } from './context.ts';
import { withStatusFacts } from './operate.ts';
import { exampleHelp, jsonOption } from './options.ts';
import { type Flag, type Json, lines, output, table } from './output.ts';
import { renderReport } from './render-report.ts';

type StatusOptions = Json & { partitions?: Flag; check?: Flag };

export function addStatus(program: Command, select: SelectVerb): void {
  program
    .command('status')
    .description(
      'say whether customers get current data, and if not, why and what to do; print each generation and its topics',
    )
    .option('--partitions', 'print every partition, not only those that lag')
    .option('--check', 'exit with code 1 unless all is well')
    .addOption(jsonOption())
    .addHelpText('after', exampleHelp('status', 'status --check', 'status --json | jq .deadLetters'))
    .action((options) => select(printStatus, options));
}

const printStatus = (context: Context, options: StatusOptions): Promise<Output> =>
  withStatusFacts(context, async ({ mongo, config, read }) => {
    const { value: report } = await watchReports(read).next();
    const counts = await readCounts(generationDatabase(mongo, config.DATABASE_NAME, report.active ?? 1));
    const text = renderStatus(report, counts, options.partitions ?? false);
    const notCounted = [...report.notCounted, ...counts.notCounted];
    return output(
      options,
      { ...report, ...counts, notCounted },
      text,
      options.check ? checkExitCode(report) : 0,
    );
  });

export const checkExitCode = ({ verdict }: Pick<Report, 'verdict'>) => (verdict === 'well' ? 0 : 1);

export function renderStatus(report: Report, counts: Counts, partitions = false): string {
  const notCounted = [...report.notCounted, ...counts.notCounted];
  const documents = Object.entries(counts.documents ?? {});
  return [
    renderReport(report, partitions),
    lines([`pending  ${pendingText(counts.pending)}`]),
    ...notCounted.map(({ part, reason }) => lines([`not counted: ${part}: ${reason}`])),
    table(
      ['documents', 'estimate'],
      documents.map(([collection, count]) => [collection, String(count)]),
    ),
  ].join('\n');
}
