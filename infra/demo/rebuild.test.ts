import { commandLine, runCommand } from './rebuild.ts';
import type { Service } from '../service.ts';

const environment = { PATH: process.env.PATH ?? '' };

async function run(words: string[]) {
  const lines: string[] = [];
  const kept: Service[] = [];
  const keep = (started: Service) => void kept.push(started);
  const error = await runCommand(words, { environment, keep, onLine: (line) => lines.push(line) }).then(
    () => null,
    (reason: unknown) => reason,
  );
  return { lines, kept, error };
}

test('a command line can be pasted into a shell', () => {
  expect(commandLine(['rebuild', 'start', '--why', 'a rename'])).toBe(
    "npx support-cli rebuild start --why 'a rename'",
  );
});

test('the lines of a command are passed on, and its process can be stopped', async () => {
  const { lines, kept, error } = await run(['rebuild', '--help']);
  expect(error).toBeNull();
  expect(lines[0]).toContain('rebuild');
  expect(kept).toHaveLength(1);
  await kept[0]?.stop();
});

test('a command that fails rejects with its line, its exit code and its output', async () => {
  const { lines, error } = await run(['rebuild', 'begin']);
  expect(String(error)).toContain('npx support-cli rebuild begin failed (exit code 2)');
  expect(String(error)).toContain(lines[0]);
  expect(lines).not.toEqual([]);
});
