import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { withEnvironment, type BenchEnvironment, type Machine } from './environment.ts';
import { formatted, grouped } from './figures.ts';

/** The options of every benchmark. `json` is a file for every figure of every run. */
export type ReportOptions = { quick?: true; rounds: number; json?: string; writeDocs?: true };

/** A figure of the run of a round, counted from 0; null if the run did not measure it. */
type Figure<Run> = (run: Run, round: number) => number | null;

/** A column of a table: the median of a figure with its minimum and maximum, or the total of all rounds. */
export type Column<Run> = { title: string; digits?: number; isTotal?: true; figure: Figure<Run> };

/**
 * A table in Markdown with a row for all runs that have the same first cells, in the order of their first run. The figures
 * follow, aligned right.
 */
export function renderTable<Run>(
  headings: string[],
  runs: Run[],
  firstCells: (run: Run) => string[],
  columns: Column<Run>[],
): string {
  const figureCell = (values: (number | null)[], { digits = 0, isTotal }: Column<Run>) =>
    isTotal
      ? grouped(
          values.reduce<number>((sum, value) => sum + (value ?? 0), 0),
          digits,
        )
      : formatted(values, digits);
  const rows = [...Map.groupBy(runs, (run) => firstCells(run).join(' | '))].map(([first, some]) => [
    first,
    ...columns.map((column) => figureCell(some.map(column.figure), column)),
  ]);
  return markdownTable([...headings, ...columns.map(({ title }) => title)], rows, headings.length);
}

const markdownTable = (header: string[], rows: string[][], textColumns: number): string => {
  const rule = header.map((_, column) => (column < textColumns ? '---' : '--:'));
  return [header, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
};

/** A figure divided by that of another row in the same round, since other load on the machine affects both. */
export const relativeTo =
  <Run>(others: Run[], figure: Figure<Run>): Figure<Run> =>
  (run, round) => {
    const [above, below] = [figure(run, round), others[round] ? figure(others[round], round) : null];
    return above === null || below === null ? null : above / below;
  };

/** The content of the `--json` file: `measured` has every figure of every run. */
export type Report<Measured = unknown> = {
  benchmark: string;
  startedAt: string;
  rounds: number;
  machine: Machine;
  measured: Measured;
};

const [begin, end] = ['<!-- figures -->', '<!-- /figures -->'];

/** Measures on the servers, then reports as the options ask for. */
export const runBenchmark = <Measured>(
  benchmark: string,
  page: string,
  options: ReportOptions,
  measureAll: (environment: BenchEnvironment) => Promise<{ measured: Measured; parts: string[] }>,
): Promise<void> =>
  withEnvironment(async (environment) => {
    const startedAt = new Date().toISOString();
    const { parts, ...result } = await measureAll(environment);
    const { machine } = environment;
    await publish({ benchmark, startedAt, rounds: options.rounds, machine, ...result }, parts, options, page);
  });

/**
 * Prints the figures on stdout, and writes the files that the options ask for. `page` is the document that
 * shows the figures between two comments.
 */
async function publish(
  report: Report,
  parts: string[],
  { json, writeDocs }: ReportOptions,
  page: string,
): Promise<void> {
  const { rounds, machine } = report;
  const { cores, memoryGigabytes, node, kafka, store } = machine;
  const times = rounds === 1 ? 'Each ran once' : `Medians of ${rounds} rounds, with minimum and maximum`;
  const head =
    `Ran on ${cores} cores with ${memoryGigabytes} GB of memory, shared with the servers: Node ${node}, ` +
    `Kafka ${kafka}, ${store}. ${times}.`;
  const figures = [head, ...parts].join('\n\n');
  // Formatted with the project's settings, which align the columns.
  const settings = await resolveConfig(page);
  const markdown = (text: string) => format(text, { ...settings, parser: 'markdown' });
  process.stdout.write(await markdown(figures));
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  if (!writeDocs) return;
  const text = await readFile(page, 'utf8');
  const [before, rest] = [text.split(begin)[0], text.split(end)[1]];
  if (rest === undefined) throw new Error(`${page} has no place for figures: ${begin} … ${end}`);
  await writeFile(page, await markdown(`${before}${begin}\n\n${figures}\n\n${end}${rest}`));
}

/** The turns of a round: each round starts with another one, so that none always follows the same. */
export function rotated<T>(turns: readonly T[], round: number): T[] {
  const first = round % turns.length;
  return [...turns.slice(first), ...turns.slice(0, first)];
}
