import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { type BenchEnvironment, withEnvironment } from './environment.ts';

export type ReportOptions = { quick: boolean; rounds: number; writeDocs: boolean };

/** A table in Markdown; the first cell of a row is a text, the others are figures. */
export const table = (headings: string[], rows: string[][]): string =>
  [headings, headings.map((_, column) => (column === 0 ? '---' : '--:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');

const page = 'docs/benchmarks.md';

/** Measures on the servers, prints the parts, and writes them between two comments of the page if asked for. */
export const runBenchmark = (
  name: string,
  { rounds, writeDocs }: ReportOptions,
  measureAll: (environment: BenchEnvironment) => Promise<string[]>,
): Promise<void> =>
  withEnvironment(async (environment) => {
    const parts = await measureAll(environment);
    const times = rounds === 1 ? 'Each ran once' : `Medians of ${rounds} rounds, with minimum and maximum`;
    const head = `${new Date().toISOString().slice(0, 10)}, ${environment.machine}. ${times}.`;
    // Formatted with the project's settings, which align the columns.
    const settings = await resolveConfig(page);
    const markdown = (text: string) => format(text, { ...settings, parser: 'markdown' });
    const figures = [head, ...parts].join('\n\n');
    process.stdout.write(await markdown(figures));
    if (!writeDocs) return;
    const begin = `<!-- ${name} -->`;
    const end = `<!-- /${name} -->`;
    const text = await readFile(page, 'utf8');
    const before = text.split(begin)[0];
    const rest = text.split(end)[1];
    if (rest === undefined) throw new Error(`${page} has no place for figures: ${begin} … ${end}`);
    await writeFile(page, await markdown(`${before}${begin}\n\n${figures}\n\n${end}${rest}`));
  });
