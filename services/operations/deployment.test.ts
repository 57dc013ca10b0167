import { execFileSync } from 'node:child_process';
import { shellWord } from './deployment.ts';

test.each(['key_1; exit 3', 'key_$(id)', '`id`', `'"`, 'a b', '*', '~', '#', '', '-', 'a\\nb', '\n'])(
  '%j is one word of a shell, and stays the same',
  (value) => {
    const script = `printf '%s|' ${shellWord(value)}`;
    expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(`${value}|`);
  },
);

test('an id and a topic are shown as they are', () => {
  expect(['key_1', 'support.tags', 'support.tags/0/1@17'].map(shellWord)).toEqual([
    'key_1',
    'support.tags',
    'support.tags/0/1@17',
  ]);
});
