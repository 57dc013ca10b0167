import { readFile, writeFile } from 'node:fs/promises';
import { useProjector } from '../support/use-projector.ts';
import { oldestFor } from './known.ts';
import { explainIndexes, recordCommands } from './record.ts';
import { drop, operate, project, rebuild, serve } from './representative-run.ts';
import { tableOf, rowsOf, type Row } from './table.ts';

const page = 'docs/internals/commands.md';
const commands = recordCommands();
const projector = useProjector({ projectors: 0 });
let rows: Row[];

beforeAll(async () => {
  const { mongo } = projector.environment;
  await project(projector);
  const requestId = await serve(projector);
  await operate(projector, requestId);
  await rebuild(projector);
  await explainIndexes(mongo, commands.recorded);
  await drop(projector);
  await explainIndexes(mongo, commands.recorded);
  rows = [...commands.recorded.values()].map((recorded) => ({ ...recorded, since: oldestFor(recorded) }));
});
afterAll(() => commands.stop());

it('the services send only commands and operators that tests/commands/known.ts lists', () => {
  const unknown = rows.filter(({ since }) => since === null);
  expect(unknown.map(({ text, uses }) => `${text} uses one of ${uses.join(', ')}`)).toEqual([]);
});

it(`the services send no shape that ${page} does not list (UPDATE_GOLDEN=1 writes them)`, async () => {
  const text = await readFile(page, 'utf8');
  const begin = text.indexOf('| collection');
  const table = tableOf(rows);
  if (process.env.UPDATE_GOLDEN) await writeFile(page, text.slice(0, begin) + table);
  // Only MongoDB's plans name indexes.
  const hasPlans = rows.some(({ indexes }) => indexes !== null);
  const listed = new Set(rowsOf(text.slice(begin), hasPlans));
  expect(rowsOf(table, hasPlans).filter((row) => !process.env.UPDATE_GOLDEN && !listed.has(row))).toEqual([]);
});
