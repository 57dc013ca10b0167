import { glob, readFile } from 'node:fs/promises';

/** Words that have given way to others, in all files, or in those whose paths `within` matches. `planted` is a text that has them. */
type Retired = { word: RegExp; say: string; planted: string; within?: RegExp };

const retired: Retired[] = [
  // English: subject, verb, object; the actor is named
  {
    word: /\b(?:of|from|by|with|in|for|and|or|than|is|are|but|without|only|on|[a-z]+s|[a-z]+e) what\b(?! (?:to do|do|is wrong)\b)/gi,
    say: 'a noun: "of the records", "names the cause"',
    planted: 'It says what was expected.',
  },
  {
    word: /\bwhat (?:it|they|an?|the|each|one|that|has|had|was|were|is(?! wrong)|are)\b/g,
    say: 'a noun: "the fields of", "the changed documents"',
    planted: '// applies what a worker\n  // has read',
  },
  { word: /(?<=\*|\/\/) What\b/g, say: 'a noun', planted: '/** What a page holds. */' },
  {
    word: /\b(?:null|absent|only|set|throws|false|reason|''|`RebuildRefused`) where\b|\bwhere (?:that|it|there|they|waiting) (?:is(?!\?)|are|was|were|do|does|has|have|cannot)\b/gi,
    say: 'if',
    planted: '/** The time; null where it is not known. */',
  },
  { word: /\balthough it\b/gi, say: 'even if, though', planted: 'Serve it although it lags.' },
  {
    word: /\b(?:is|are|was|were|be|far|further|longest|falls?) behind\b(?! a proxy)/gi,
    say: 'lags, N seconds behind',
    planted: 'a generation that is behind',
  },
  {
    word: /\blook(?:s|ed|ing)? (?:at \w+ )?again\b|\blooked at\b/gi,
    say: 'poll, recheck, read',
    planted: 'looks at it again',
  },
  {
    word: /\b(?:nobody|somebody|whoever)\b/gi,
    say: 'the actor: no operator, another client',
    planted: 'a stream that nobody reads',
  },
  { word: /\b(?:goes?|going|went) on (?:\w+ing|where)\b/gi, say: 'continues', planted: 'goes on committing' },
  { word: /\bin vain\b|\bsees? to it\b/gi, say: 'without success, ensure', planted: 'waits in vain' },
  { word: /\bup to when\b/gi, say: 'the instant up to which', planted: 'up to when it is complete' },
  { word: /\bsighting\b/gi, say: 'observation', planted: 'one sighting is enough' },
  { word: /\banew\b/gi, say: 'again', planted: 'stores it anew' },
  {
    word: /(?:\. |; |\/\*\* )one (?:that|which)\b/gi,
    say: 'the noun',
    planted: '// It waits. One that does not fit, waits longer.',
  },
  { word: /\bunder way\b/gi, say: 'in progress', planted: 'a write is under way' },
  { word: /\bat the least\b/gi, say: 'at least', planted: 'one at the least' },
  { word: /\bso (?:many|much)(?=[\s.,;:])/gi, say: 'the number', planted: 'so many of them' },
  { word: /\bunless told\b/gi, say: 'by default', planted: 'unless told otherwise' },
  // MongoDB is the store only where the engine's port is meant
  {
    word: /\bthe store\b/gi,
    say: 'MongoDB: the store is a port of the engine',
    planted: 'reads the store',
    within: /^docs\/(?!benchmarks|rebuilding|internals\/simulation)/,
  },
  {
    word: /(?<=^\s*[^\s/*][^\n]*['"`][^'"`\n]*)\bthe store\b/gm,
    say: 'MongoDB, in messages to operators',
    planted: "logger.warn('waiting for the store');",
    within: /^services\/.*(?<!\.test)\.ts$/,
  },
];

/** A space of a pattern also matches a line break inside a comment or between the parts of a text. */
const acrossLines = ({ source, flags }: RegExp) =>
  new RegExp(source.replaceAll(/(?<!\[) /g, String.raw`[\s*/+'"#]+`), flags);

type Source = { path: string; text: string };

const findRetired = ({ path, text }: Source): string[] =>
  retired
    .filter(({ within }) => within?.test(path) ?? true)
    .flatMap(({ word, say }) =>
      [...text.matchAll(acrossLines(word))].map(
        ({ index, 0: found }) =>
          `${path}:${text.slice(0, index).split('\n').length}: "${found.trim().replaceAll(/\s+/g, ' ')}": say ${say}`,
      ),
    );

let sources: Source[] = [];
beforeAll(async () => {
  const paths = [];
  for await (const path of glob([
    '*.{md,mjs,ts}',
    'openapi.json',
    '{clients,docs,infra,services,shared,tests}/**/*.{ts,mjs,md,css,sh,yaml}',
  ]))
    if (!/node_modules|\/generated\/|glossary\.test\.ts$/.test(path)) paths.push(path);
  sources = await Promise.all(
    paths.sort().map(async (path) => ({ path, text: await readFile(path, 'utf8') })),
  );
});

test('no file has a retired word', () => {
  expect(sources.flatMap(findRetired)).toEqual([]);
  expect(sources.length).toBeGreaterThan(600);
});

test.each(retired)('$word is found, and reported with its line and the better word', ({ planted, say }) => {
  const reports = ['services/projector/planted.ts', 'docs/planted.md'].flatMap((path) =>
    findRetired({ path, text: `\n${planted}` }),
  );
  expect(reports.join('\n')).toMatch(/planted\.\w+:[23]: "/);
  expect(reports.join('\n')).toContain(`: say ${say}`);
});

test('the glossary has 50 terms at most', () => {
  const { text = '' } = sources.find(({ path }) => path === 'docs/glossary.md') ?? {};
  // Its head and rule are no terms.
  const rows = text.split('\n').filter((line) => line.startsWith('| ')).length - 2;
  expect(rows).toBeGreaterThan(20);
  expect(rows).toBeLessThanOrEqual(50);
});
