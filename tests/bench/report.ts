import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { type BenchEnvironment, withEnvironment } from './environment.ts';

export type ReportOptions = { quick: boolean; rounds: number; writeDocs: boolean };

/** Renders a table in Markdown. The first cell of a row is a text, and the others are figures. */
export function table(headings: string[], rows: string[][]): string {
  const alignments = headings.map((_, column) => (column === 0 ? '---' : '--:'));
  const lines = [headings, alignments, ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return lines.join('\n');
}

const page = 'docs/benchmarks.md';

/** Runs a benchmark and prints its sections. With `writeDocs`, writes them between two comments of the page. */
export const runBenchmark = (
  name: string,
  { rounds, writeDocs }: ReportOptions,
  measureSections: (environment: BenchEnvironment) => Promise<string[]>,
): Promise<void> =>
  withEnvironment(async (environment) => {
    const sections = await measureSections(environment);
    const times = rounds === 1 ? 'Each ran once' : `Medians of ${rounds} rounds, with minimum and maximum`;
    const head = `${new Date().toISOString().slice(0, 10)}, ${environment.machine}. ${times}.`;
    // Prettier aligns the columns as in the page.
    const settings = await resolveConfig(page);
    const formatMarkdown = (text: string) => format(text, { ...settings, parser: 'markdown' });
    const figures = [head, ...sections].join('\n\n');
    process.stdout.write(await formatMarkdown(figures));
    if (!writeDocs) return;
    const begin = `<!-- ${name} -->`;
    const end = `<!-- /${name} -->`;
    const text = await readFile(page, 'utf8');
    const textBefore = text.split(begin)[0];
    const textAfter = text.split(end)[1];
    if (textAfter === undefined) throw new Error(`${page} has no place for figures: ${begin} … ${end}`);
    await writeFile(page, await formatMarkdown(`${textBefore}${begin}\n\n${figures}\n\n${end}${textAfter}`));
  });
