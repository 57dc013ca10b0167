import { readFile } from 'node:fs/promises';
import { helpVerbs } from '../support/help-verbs.ts';
import { documentedCommands } from './documented-commands.ts';
import { notRun, steps } from './plan.ts';

test('the long test runs each documented command that has no reason against a run', async () => {
  const documented = await documentedCommands();
  const isRun = (command: string) => steps.some((step) => step.command === command);
  const isListed = (command: string) => notRun.some(([pattern]) => pattern.test(command));
  const commands = documented.map(({ command }) => command);
  expect(documented.filter(({ command }) => !isRun(command) && !isListed(command))).toEqual([]);
  expect(steps.filter(({ command }) => !commands.includes(command))).toEqual([]);
  expect(notRun.filter(([pattern]) => !commands.some((command) => pattern.test(command)))).toEqual([]);
  expect(commands.filter((command) => isRun(command) && isListed(command))).toEqual([]);
  expect(commands.length).toBeGreaterThan(100);
});

test('the pages show every verb of the CLI in a command', async () => {
  const commands = (await documentedCommands()).map(({ command }) => `${command} `);
  const isShown = (verb: string[]) =>
    commands.some((command) => command.includes(`support-cli ${verb.join(' ')} `));
  expect(helpVerbs().filter((verb) => !isShown(verb) && !isGroup(verb))).toEqual([]);
});

test('the table of rights has every verb of the CLI, once', async () => {
  const page = await readFile('docs/deploy.md', 'utf8');
  const firstCells = [...page.matchAll(/^\| (`[^|]+`) +\|/gm)].map(([, cell = '']) => cell);
  const verbs = firstCells.flatMap((cell) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, verb]) => String(verb)),
  );
  const all = helpVerbs().filter((verb) => !isGroup(verb));
  expect(verbs.toSorted()).toEqual(all.map((verb) => verb.join(' ')).toSorted());
});

const isGroup = ([name = '', ...verb]: string[]) => verb.length === 0 && helpVerbs([name]).length > 0;
