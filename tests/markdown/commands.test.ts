import { readFile } from 'node:fs/promises';
import { helpVerbs } from '../support/help-verbs.ts';
import { documentedCommands } from './documented-commands.ts';
import { notRun, steps } from './plan.ts';

test('the long test runs each documented command that has no reason against a run', async () => {
  const documented = await documentedCommands();
  const commands = documented.map(({ command }) => command);
  const isRun = (command: string) => steps.some((step) => step.command === command);
  const hasReason = (command: string) => notRun.some(([pattern]) => pattern.test(command));
  const forgotten = documented.filter(({ command }) => !isRun(command) && !hasReason(command));
  const runInVain = steps.filter(({ command }) => !commands.includes(command));
  const reasonsInVain = notRun.filter(([pattern]) => !commands.some((command) => pattern.test(command)));
  const runAgainstReason = commands.filter((command) => isRun(command) && hasReason(command));
  const none: unknown[] = [];
  expect({ forgotten, runInVain, reasonsInVain, runAgainstReason }).toEqual({
    forgotten: none,
    runInVain: none,
    reasonsInVain: none,
    runAgainstReason: none,
  });
  expect(commands.length).toBeGreaterThan(100);
});

test('the pages show every verb of the CLI in a command', async () => {
  const documented = await documentedCommands();
  const isShown = (verb: string[]) =>
    documented.some(({ command }) => `${command} `.includes(`support-cli ${verb.join(' ')} `));
  const hidden = helpVerbs().filter((verb) => !isShown(verb));
  expect(hidden).toEqual([]);
});

test('the table of rights has every verb of the CLI, once', async () => {
  const page = await readFile('docs/deploy.md', 'utf8');
  const listed: string[] = [];
  for (const [, firstCell = ''] of page.matchAll(/^\| (`[^|]+`) +\|/gm)) {
    for (const [, verb = ''] of firstCell.matchAll(/`([^`]+)`/g)) listed.push(verb);
  }
  const verbs = helpVerbs().map((verb) => verb.join(' '));
  expect(listed.toSorted()).toEqual(verbs.toSorted());
});
