import { execFileSync } from 'node:child_process';
import { shellWord } from './deployment.ts';

test.each(['key_1; exit 3', 'key_$(id)', '`id`', `'"`, 'a b', '*', '~', '#', '', '-', 'a\\nb', '\n'])(
  '%j becomes one word of a shell with the same content',
  (value) => {
    const script = `printf '%s|' ${shellWord(value)}`;
    expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(`${value}|`);
  },
);

test('an id and a topic are unchanged', () => {
  expect(['key_1', 'support.tags', 'support.tags/0/1@17'].map(shellWord)).toEqual([
    'key_1',
    'support.tags',
    'support.tags/0/1@17',
  ]);
});
