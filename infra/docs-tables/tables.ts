import type { z } from 'zod';
import { apiSettings } from '../../services/api/config.ts';
import { errorCatalogue } from '../../services/api/http/error-catalogue.ts';
import { cliSettings } from '../../services/cli/config.ts';
import { projectorSettings } from '../../services/projector/config.ts';
import { rejectionReasons } from '../../services/projector/events/change.ts';

const services: [string, Record<string, z.ZodType>][] = [
  ['projector', projectorSettings],
  ['api', apiSettings],
  ['cli', cliSettings],
];

/** The README's tables by the name that its comments mark them with. */
export const readmeTables = (): Record<string, string> => ({
  rejections: rejectionsTable(),
  settings: settingsTable(),
  errors: errorsTable(),
});

/** `text` with every marked table as the code has it; a table that `text` does not mark is an error. */
export function withTables(text: string): string {
  return Object.entries(readmeTables()).reduce((whole, [name, table]) => {
    const marked = new RegExp(`(<!-- table: ${name} -->\n)[^]*?(<!-- end -->)`);
    if (!marked.test(whole)) throw new Error(`README.md has no place for the table ${name}`);
    return whole.replace(marked, (_, begin: string, end: string) => `${begin}\n${table}\n${end}`);
  }, text);
}

function settingsTable(): string {
  const names = [...new Set(services.flatMap(([, settings]) => Object.keys(settings)))];
  return markdown(
    ['variable', 'default', 'read by', 'meaning'],
    names.map((name) => {
      const readers = services.filter(([, settings]) => name in settings);
      const values = readers.map(([, settings]) => defaultOf(settings[name]));
      const shown = values.every((value) => value === values[0])
        ? (values[0] ?? '')
        : readers.map(([service], index) => `${values[index]} (${service})`).join(', ');
      const meaning = readers.map(([, settings]) => settings[name]?.description).find(Boolean);
      if (!meaning) throw new Error(`${name} is not described`);
      return [`\`${name}\``, shown, readers.map(([service]) => service).join(', '), meaning];
    }),
  );
}

function defaultOf(setting: z.ZodType | undefined): string {
  const absent = setting?.safeParse(undefined);
  if (!absent?.success) return '**required**';
  const { data } = absent;
  if (data === undefined || (Array.isArray(data) && data.length === 0)) return 'unset';
  return `\`${typeof data === 'string' ? data : JSON.stringify(data)}\``;
}

const errorsTable = () =>
  markdown(
    ['status', 'code', 'type', 'message'],
    Object.entries(errorCatalogue).map(([code, { status, type, message }]) => [
      String(status),
      `\`${code}\``,
      `\`${type}\``,
      message,
    ]),
  );

const rejectionsTable = () =>
  markdown(
    ['reason', 'meaning'],
    Object.entries(rejectionReasons).map(([reason, meaning]) => [`\`${reason}\``, meaning]),
  );

/** A table as prettier leaves it. */
function markdown(head: string[], rows: string[][]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return `${[line(head), rule, ...cells.map(line)].join('\n')}\n`;
}
