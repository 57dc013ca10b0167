import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { withEnvironment, type BenchEnvironment, type Machine } from './environment.ts';
import { formatted, grouped, median } from './figures.ts';

/** The options of every benchmark. `json` is a file for every figure of every run. */
export type ReportOptions = { quick?: true; rounds: number; json?: string; writeDocs?: true };

/** A figure of the run of a round, counted from 0; null if the run did not measure it. */
export type Figure<Run> = (run: Run, round: number) => number | null;

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

/** A bound of the median of a figure. The benchmark prints whether it is met; nothing fails if it is not. */
export type Goal = { goal: string; figures: (number | null)[]; atLeast?: number; atMost?: number };

const goalTable = (goals: Goal[]): string =>
  markdownTable(
    ['goal', 'bound', 'figure', 'met'],
    goals.map(({ goal, figures, atLeast = -Infinity, atMost = Infinity }) => {
      const bound = atMost === Infinity ? `at least ${atLeast}` : `at most ${atMost}`;
      const known = figures.filter((figure) => figure !== null && !Number.isNaN(figure)) as number[];
      if (known.length === 0) return [goal, bound, '–', 'not measured'];
      const figure = median(known);
      return [goal, bound, grouped(figure, 2), figure >= atLeast && figure <= atMost ? 'yes' : 'no'];
    }),
    1,
  );

/** The content of the `--json` file: `measured` has every figure of every run. */
export type Report<Measured = unknown> = {
  benchmark: string;
  startedAt: string;
  rounds: number;
  machine: Machine;
  measured: Measured;
  goals: Goal[];
};

const [begin, end] = ['<!-- figures -->', '<!-- /figures -->'];

/** Measures on the servers, then reports as the options ask for. */
export const runBenchmark = <Measured>(
  benchmark: string,
  page: string,
  options: ReportOptions,
  measureAll: (
    environment: BenchEnvironment,
  ) => Promise<{ measured: Measured; parts: string[]; goals: Goal[] }>,
): Promise<void> =>
  withEnvironment(async (environment) => {
    const startedAt = new Date().toISOString();
    const { parts, ...result } = await measureAll(environment);
    const { machine } = environment;
    await publish({ benchmark, startedAt, rounds: options.rounds, machine, ...result }, parts, options, page);
  });

/**
 * Prints the figures and the goals on stdout, and writes the files that the options ask for. `page` is the document that
 * shows the figures between two comments; it shows no goals.
 */
async function publish(
  report: Report,
  parts: string[],
  { json, writeDocs }: ReportOptions,
  page: string,
): Promise<void> {
  const { rounds, machine, goals } = report;
  const { cores, memoryGigabytes, node, kafka, store } = machine;
  const times = rounds === 1 ? 'Each ran once' : `Medians of ${rounds} rounds, with minimum and maximum`;
  const head =
    `Ran on ${cores} cores with ${memoryGigabytes} GB of memory, shared with the servers: Node ${node}, ` +
    `Kafka ${kafka}, ${store}. ${times}.`;
  const figures = [head, ...parts].join('\n\n');
  // Formatted with the project's settings, which align the columns.
  const settings = await resolveConfig(page);
  const markdown = (text: string) => format(text, { ...settings, parser: 'markdown' });
  process.stdout.write(await markdown(goals.length > 0 ? `${figures}\n\n${goalTable(goals)}` : figures));
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
