import { readFile, writeFile } from 'node:fs/promises';
import { markdownTable } from '../../infra/docs-tables/markdown.ts';
import { helpVerbs } from '../support/help-verbs.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';
import { explainIndexes, recordCommands } from './record.ts';
import { drop, operate, project, rebuild, serve, usedArguments } from './representative-run.ts';

const page = 'docs/internals/commands.md';
const commands = recordCommands(process.env.MONGODB_URL ?? '');
let recordedUrl = '';
beforeAll(async () => {
  recordedUrl = proxiedUrl(await commands.listen());
});
const projector = useProjector({
  projectors: 0,
  servers: () => ({ ...process.env, MONGODB_URL: recordedUrl }),
});
afterAll(() => commands.close());

/** The rows of a table, with their indexes only if the store has plans. */
const rowsOf = (table: string, hasPlans: boolean): string[] =>
  table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .map(([, target, command, index]) => [target, command, hasPlans ? index : ''].join(' | '));

test(`the services send no shape that ${page} does not list (UPDATE_GOLDEN=1 writes them)`, async () => {
  const { mongo } = projector.environment;
  await project(projector);
  const requestId = await serve(projector);
  await operate(projector, requestId);
  await rebuild(projector);
  await explainIndexes(mongo, commands.recorded);
  await drop(projector);
  await explainIndexes(mongo, commands.recorded);
  const isUsed = (verb: string[]) => usedArguments.some((args) => args.startsWith(`${verb.join(' ')} `));
  expect(helpVerbs().filter((verb) => !isUsed(verb))).toEqual([]);
  expect([...commands.concernFaults]).toEqual([]);
  const recorded = [...commands.recorded.values()];
  const table = markdownTable(
    ['collection', 'command', 'index'],
    recorded
      .map(({ targets, text, indexes }) => [
        [...targets].sort().join(', '),
        `\`${text}\``,
        indexes?.join(', ') ?? '',
      ])
      .sort((a, b) => (a.join() < b.join() ? -1 : 1)),
  );
  const text = await readFile(page, 'utf8');
  const begin = text.indexOf('| collection');
  if (process.env.UPDATE_GOLDEN) await writeFile(page, text.slice(0, begin) + table);
  // Only MongoDB's plans name indexes.
  const hasPlans = recorded.some(({ indexes }) => indexes !== null);
  const listed = new Set(rowsOf(text.slice(begin), hasPlans));
  expect(rowsOf(table, hasPlans).filter((row) => !process.env.UPDATE_GOLDEN && !listed.has(row))).toEqual([]);
});
