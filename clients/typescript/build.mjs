import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Compiles the client to `dist`. npm runs this script and puts tsc on the path. The code is emitted once, as CommonJS, and
 * an ES module re-exports it, so that a program that loads both has one class `ApiError`.
 */
rmSync('dist', { recursive: true, force: true });
mkdirSync('dist/cjs', { recursive: true });
execFileSync('tsc', ['--project', '.'], { stdio: 'inherit' });
// tsc rewrites the extension of imports in .js files, but not in .d.ts files.
for (const name of readdirSync('dist/cjs', { recursive: true }).filter((each) => each.endsWith('.d.ts'))) {
  const text = readFileSync(`dist/cjs/${name}`, 'utf8');
  writeFileSync(`dist/cjs/${name}`, text.replace(/(from '\..*)\.ts';/g, "$1.js';"));
}
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
for (const name of ['index.js', 'index.d.ts']) {
  writeFileSync(`dist/${name}`, "export * from './cjs/index.js';\n");
}
