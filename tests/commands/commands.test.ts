import { readFile, writeFile } from 'node:fs/promises';
import { markdownTable } from '../../infra/docs-tables/markdown.ts';
import { helpVerbs } from '../support/help-verbs.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';
import { explainIndexes, recordCommands, type Recorded } from './record.ts';
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

function tableOf(recorded: Recorded[]): string {
  const rows = recorded.map(({ targets, text, indexes }) => {
    const collections = [...targets].sort().join(', ');
    return [collections, `\`${text}\``, indexes?.join(', ') ?? ''];
  });
  const sorted = rows.sort((a, b) => (a.join() < b.join() ? -1 : 1));
  return markdownTable(['collection', 'command', 'index'], sorted);
}

/** The rows of a table, with their indexes only if the store has plans. */
function rowsOf(table: string, hasPlans: boolean): string[] {
  const [, , ...rows] = table.trim().split('\n');
  return rows.map((row) => {
    const [, target, command, index] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return [target, command, hasPlans ? index : ''].join(' | ');
  });
}

/** The commands of the CLI that the run has not used. */
function unusedVerbs(): string[][] {
  const isUsed = (verb: string[]) => usedArguments.some((args) => args.startsWith(`${verb.join(' ')} `));
  return helpVerbs().filter((verb) => !isUsed(verb));
}

test(`the services send no shape that ${page} does not list (UPDATE_GOLDEN=1 writes them)`, async () => {
  const { mongo } = projector.environment;
  await project(projector);
  const requestId = await serve(projector);
  await operate(projector, requestId);
  await rebuild(projector);
  await explainIndexes(mongo, commands.recorded);
  await drop(projector);
  await explainIndexes(mongo, commands.recorded);
  expect(unusedVerbs()).toEqual([]);
  expect([...commands.concernFaults]).toEqual([]);
  const recorded = [...commands.recorded.values()];
  const table = tableOf(recorded);
  const text = await readFile(page, 'utf8');
  const begin = text.indexOf('| collection');
  if (process.env.UPDATE_GOLDEN) {
    await writeFile(page, text.slice(0, begin) + table);
    return;
  }
  // Only MongoDB's plans name indexes.
  const hasPlans = recorded.some(({ indexes }) => indexes !== null);
  const listed = new Set(rowsOf(text.slice(begin), hasPlans));
  expect(rowsOf(table, hasPlans).filter((row) => !listed.has(row))).toEqual([]);
});
