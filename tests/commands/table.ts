import { markdown } from '../../infra/docs-tables/markdown.ts';
import type { Recorded } from './record.ts';

export type Row = Recorded & { since: string | null };

/** The table of docs/internals/commands.md. */
export const tableOf = (rows: Row[]): string =>
  markdown(
    ['collection', 'command', 'index', 'since'],
    rows
      .map((row) => [
        [...row.targets].sort().join(', '),
        `\`${row.text}\``,
        row.indexes?.join(', ') ?? '',
        row.since ?? 'unknown',
      ])
      .sort((a, b) => (a.join() < b.join() ? -1 : 1)),
  );

/** The rows of a table, with or without their indexes. */
export const rowsOf = (table: string, hasPlans: boolean): string[] =>
  table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .map(([, target, command, index, since]) => [target, command, hasPlans ? index : '', since].join(' | '));
