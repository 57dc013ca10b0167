import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, installOnce } from '../../infra/dev-servers/native/cache.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { testUnless } from '../support/unless-missing.ts';
import { useFolder } from '../support/use-opened.ts';
import { dialectNames, isMissing, matchesIn } from './dialects.ts';

type Node = { [name: string]: unknown };
const folder = useFolder();
const document: unknown = JSON.parse(readFileSync('openapi.json', 'utf8'));

/** Yields each pattern of the document with its examples, and with texts that the pattern must refuse. */
function* pairsOf(value: unknown, examplesAbove: unknown[] = []): Generator<[pattern: string, text: string]> {
  if (typeof value !== 'object' || value === null) return;
  const { pattern, example, examples } = value as Node;
  const listed = Array.isArray(examples) ? (examples as unknown[]) : [];
  const ownExamples = [example, ...listed].filter((text) => text !== undefined);
  if (typeof pattern === 'string') {
    for (const text of ['', '\n', 'x', ...ownExamples, ...examplesAbove]) yield [pattern, String(text)];
  }
  // The examples of a parameter are beside its schema, which contains the pattern.
  for (const [name, child] of Object.entries(value))
    yield* pairsOf(child, name === 'schema' ? ownExamples : []);
}

const pairs = [...pairsOf(document)];
const expected = pairs.map(([pattern, text]) => new RegExp(pattern, 'u').test(text));

test('the patterns of the document accept only the examples', () => {
  expect(expected.filter(Boolean).length).toBeGreaterThan(10);
  // The texts that a pattern must refuse have one character at most.
  const mismatches = pairs.filter(([, text], index) => expected[index] !== text.length > 1);
  expect(mismatches).toEqual([]);
});

for (const { name, tool } of dialectNames)
  testUnless(
    isMissing(tool) ? `this machine lacks ${tool}` : null,
    `${name} matches the same texts with each pattern as JavaScript`,
    async () => {
      expect(await matchesIn(name, folder.path, pairs)).toEqual(expected);
    },
  );

const spectral = '@stoplight/spectral-cli@6.16.3';

test("Spectral's rules for OpenAPI find nothing", async () => {
  const installed = await installOnce(join(cacheDir(), 'spectral-6.16.3'), async (partial) => {
    // Without this option, scripts of the packages would report the installation to their authors.
    await mustRun('npm', [
      'install',
      '--prefix',
      partial,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      spectral,
    ]);
  });
  const ruleset = join(folder.path, 'ruleset.json');
  // The operator's contact is on the pages of the documentation.
  writeFileSync(ruleset, JSON.stringify({ extends: 'spectral:oas', rules: { 'info-contact': 'off' } }));
  const program = join(installed, 'node_modules/.bin/spectral');
  const findings = await mustRun(program, [
    'lint',
    '--ruleset',
    ruleset,
    '--fail-severity=hint',
    'openapi.json',
  ]);
  expect(findings).toContain('No results');
});
