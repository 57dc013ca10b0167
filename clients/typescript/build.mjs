import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';

/** Compiles the client to `dist`. npm runs this script and puts tsc on the path. */
rmSync('dist', { recursive: true, force: true });
execFileSync('tsc', ['--project', '.'], { stdio: 'inherit' });
// tsc rewrites the extension of imports in .js files, but not in .d.ts files.
for (const name of readdirSync('dist', { recursive: true }).filter((each) => each.endsWith('.d.ts'))) {
  const text = readFileSync(`dist/${name}`, 'utf8');
  writeFileSync(`dist/${name}`, text.replace(/(from '\..*)\.ts';/g, "$1.js';"));
}
