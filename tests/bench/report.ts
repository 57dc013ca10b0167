import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { goalTable, formatted, markdownTable } from './markdown.ts';
import type { Goal } from './goal.ts';
import type { Machine } from './machine.ts';
import { spreadOf } from './statistics.ts';

/** What every benchmark can be asked for. `json` is a file for every figure of every run. */
export type ReportOptions = { quick?: true; rounds: number; json?: string; writeDocs?: true };

/** A figure of a run; null if the run did not measure it. */
export type Figure<Run> = (run: Run) => number | null;

/** A column of a table: the median of a figure, with its minimum and maximum. */
export type Column<Run> = { title: string; digits: number; figure: Figure<Run> };

/** A row of a table, with its runs, one for each round. */
export type Row<Run> = { name: string; title: string; runs: Run[] };

export const tableOf = <Run>(rows: Row<Run>[], columns: Column<Run>[]): string =>
  markdownTable(
    ['', '', ...columns.map(({ title }) => title)],
    rows.map(({ name, title, runs }) => [
      ...[`\`${name}\``, title],
      ...columns.map(({ figure, digits }) => formatted(spreadOf(runs.map(figure)), digits)),
    ]),
    2,
  );

/**
 * The median of the ratios of two rows, round by round, so that other load on the machine affects both; null if a round
 * has not measured both.
 */
export function ratioOf<Run>(ours: Run[] = [], theirs: Run[] = [], figure: Figure<Run>): number | null {
  const ratios = ours.map((run, round) => {
    const [above, below] = [figure(run), theirs[round] ? figure(theirs[round]) : null];
    return above === null || below === null ? null : above / below;
  });
  return spreadOf(ratios)?.median ?? null;
}

/** The content of the `--json` file: `measured` has every figure of every run. */
export type Report<Measured = unknown> = {
  benchmark: string;
  startedAt: string;
  rounds: number;
  machine: Machine;
  measured: Measured;
  goals: Goal[];
};

/**
 * Prints the figures and the goals on stdout, and writes the files that the options ask for. `page` is the document that
 * shows the figures between two comments; it shows no goals.
 */
export async function publish(
  report: Report,
  parts: string[],
  { json, writeDocs }: ReportOptions,
  page: string,
): Promise<void> {
  const { rounds, machine, goals } = report;
  const times = rounds === 1 ? 'Each ran once' : `Medians of ${rounds} rounds, with minimum and maximum`;
  const { cores, memoryGigabytes, node, kafka, store } = machine;
  const head =
    `Ran on ${cores} cores with ${memoryGigabytes} GB of memory, shared with the servers: Node ${node}, ` +
    `Kafka ${kafka}, ${store}. ${times}.`;
  const figures = [head, ...parts].join('\n\n');
  process.stdout.write(`${figures}\n\n${goalTable(goals)}\n`);
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  if (writeDocs) await writeFigures(page, figures);
}

const [begin, end] = ['<!-- figures -->', '<!-- /figures -->'];

/** Replaces the figures of a document, and formats it with the project's settings. */
async function writeFigures(page: string, figures: string): Promise<void> {
  const text = await readFile(page, 'utf8');
  const [before, rest] = [text.split(begin)[0], text.split(end)[1]];
  if (rest === undefined) throw new Error(`${page} has no place for figures: ${begin} … ${end}`);
  const config = await resolveConfig(page);
  const replaced = `${before}${begin}\n\n${figures}\n\n${end}${rest}`;
  await writeFile(page, await format(replaced, { ...config, parser: 'markdown' }));
}
