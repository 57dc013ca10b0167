import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Builds the package in `package`: the compiled client, the README, and a package.json with the name in CLIENT_PACKAGE.
 * npm runs this script, with tsc on the path. Node loads the ES modules by `import` and by `require`, so a process has
 * one copy of the client. The CommonJS files beside them are for test runners that load no ES modules.
 */
rmSync('package', { recursive: true, force: true });
const compile = (...options) => execFileSync('tsc', ['--project', '.', ...options], { stdio: 'inherit' });
compile();
compile(
  ...['--outDir', 'package/dist/commonjs', '--declaration', 'false', '--verbatimModuleSyntax', 'false'],
  ...['--module', 'commonjs', '--moduleResolution', 'bundler'],
);
writeFileSync('package/dist/commonjs/package.json', JSON.stringify({ type: 'commonjs' }));
// tsc rewrites the extension of imports in .js files, but not in .d.ts files.
const compiledFiles = readdirSync('package/dist', { recursive: true });
for (const file of compiledFiles.filter((path) => path.endsWith('.d.ts'))) {
  const text = readFileSync(`package/dist/${file}`, 'utf8');
  writeFileSync(`package/dist/${file}`, text.replace(/(from '\..*)\.ts';/g, "$1.js';"));
}
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
delete manifest.scripts;
const name = process.env.CLIENT_PACKAGE || manifest.name;
writeFileSync('package/package.json', JSON.stringify({ ...manifest, name }, null, 2));
writeFileSync('package/README.md', readFileSync('README.md', 'utf8').replaceAll(manifest.name, name));
