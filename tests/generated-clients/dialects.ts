import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from '../../infra/dev-servers/native/run.ts';

/** A program that takes pairs of a pattern and a text. It prints `1` for each pair that matches, and `0` otherwise. */
type Dialect = { tool: string; file: string; source: string; command: (file: string) => string[] };

const dialects: Record<string, Dialect> = {
  Python: {
    tool: 'python3',
    file: 'match.py',
    source: `import re, sys
pairs = sys.argv[1:]
print("".join(str(int(bool(re.search(p, t)))) for p, t in zip(pairs[::2], pairs[1::2])))`,
    command: (file) => ['python3', file],
  },
  'RE2 (Go)': {
    tool: 'go',
    file: 'match.go',
    source: `package main

import ("fmt"; "os"; "regexp")

func main() {
	for i := 1; i < len(os.Args); i += 2 {
		if regexp.MustCompile(os.Args[i]).MatchString(os.Args[i+1]) { fmt.Print(1) } else { fmt.Print(0) }
	}
}`,
    command: (file) => ['go', 'run', file],
  },
  Java: {
    tool: 'javac',
    file: 'Match.java',
    source: `public class Match {
  public static void main(String[] given) {
    for (int i = 0; i < given.length; i += 2)
      System.out.print(java.util.regex.Pattern.compile(given[i]).matcher(given[i + 1]).find() ? 1 : 0);
  }
}`,
    command: (file) => ['java', file],
  },
  Perl: {
    tool: 'perl',
    file: 'match.pl',
    source: 'while (my ($pattern, $text) = splice(@ARGV, 0, 2)) { print $text =~ /$pattern/ ? 1 : 0 }',
    command: (file) => ['perl', file],
  },
  'PCRE (PHP)': {
    tool: 'php',
    file: 'match.php',
    source: `<?php
foreach (array_chunk(array_slice($argv, 1), 2) as [$pattern, $text]) echo preg_match("\\x01$pattern\\x01u", $text) ?: 0;`,
    command: (file) => ['php', file],
  },
};

/** The dialects of regular expressions, each with the tool that a test of the dialect needs. */
export const dialectNames = Object.entries(dialects).map(([name, { tool }]) => ({ name, tool }));

export const isMissing = (tool: string): boolean =>
  spawnSync('sh', ['-c', 'command -v "$0" || test -e "$0"', tool]).status !== 0;

/** Returns for each pair whether the text matches the pattern in a dialect. */
export async function matchesIn(name: string, folder: string, pairs: [string, string][]): Promise<boolean[]> {
  const dialect = dialects[name];
  if (!dialect) throw new Error(`no dialect ${name}`);
  const file = join(folder, dialect.file);
  writeFileSync(file, dialect.source);
  const [program = '', ...args] = dialect.command(file);
  const output = await mustRun(program, [...args, ...pairs.flat()]);
  return [...output.trim()].map((digit) => digit === '1');
}
