import { glob, readFile } from 'node:fs/promises';

/** A word that no file may use, or no file whose path `within` matches, and the word in its place. */
type Retired = { word: RegExp; say: string; within?: RegExp };

const retired: Retired[] = [
  // English: subject, verb, object; the actor is named
  {
    word: /\b(?:of|from|by|with|in|for|and|or|than|is|are|but|without|only|on|[a-z]+s|[a-z]+e) what\b(?! (?:to do|do|is wrong)\b)/gi,
    say: 'a noun: "of the records", "names the cause"',
  },
  {
    word: /\bwhat (?:it|they|an?|the|each|one|that|has|had|was|were|is(?! wrong)|are)\b/g,
    say: 'a noun: "the fields of", "the changed documents"',
  },
  { word: /(?<=\*|\/\/) What\b/g, say: 'a noun' },
  {
    word: /\b(?:null|absent|only|set|throws|false|reason|''|`RebuildRefused`) where\b|\bwhere (?:that|it|there|they|waiting) (?:is(?!\?)|are|was|were|do|does|has|have|cannot)\b/gi,
    say: 'if',
  },
  { word: /\balthough it\b/gi, say: 'even if, though' },
  {
    word: /\b(?:is|are|was|were|be|far|further|longest|falls?) behind\b(?! a proxy)/gi,
    say: 'lags, N seconds behind',
  },
  { word: /\blook(?:s|ed|ing)? (?:at \w+ )?again\b|\blooked at\b/gi, say: 'poll, recheck, read' },
  { word: /\b(?:nobody|somebody|whoever)\b/gi, say: 'the actor: no operator, another client' },
  { word: /\b(?:goes?|going|went) on (?:\w+ing|where)\b/gi, say: 'continues' },
  { word: /\bin vain\b|\bsees? to it\b/gi, say: 'without success, ensure' },
  { word: /\bup to when\b/gi, say: 'the instant up to which' },
  { word: /\bsighting\b/gi, say: 'observation' },
  { word: /\banew\b/gi, say: 'again' },
  { word: /(?:\. |; |\/\*\* )one (?:that|which)\b/gi, say: 'the noun' },
  {
    word: /(?<=\/\*\*|^\s*\/\/) (?:Of|Those|For how|For whom)\b/gm,
    say: 'the noun first',
    within: /^(?:clients|infra|services|shared)\/.*(?<!\.test)\.ts$/,
  },
  { word: /\bunder way\b/gi, say: 'in progress' },
  { word: /\bat the least\b/gi, say: 'at least' },
  { word: /\bat the most\b/gi, say: 'at most' },
  // Mechanisms that are gone, and words that have a usual one
  { word: /\btall(?:y|ies)\b/gi, say: 'ledger, count' },
  { word: /keyless/gi, say: 'unauthenticated' },
  { word: /waive/gi, say: 'accept, as the command-line tool does' },
  { word: /remed(?:y|ies)/gi, say: 'fix' },
  { word: /judg/gi, say: 'evaluate, decide, check' },
  { word: /stranger/gi, say: 'a foreign member, other people' },
  { word: /\blogs? (?:\w+ )*cut\b/gi, say: 'a log diverges' },
  { word: /\b(?:the|no|their|its) remains\b/gi, say: 'leftovers' },
  { word: /\bchecks? holds?\b/gi, say: 'a check passes' },
  { word: /\bsets? aside\b/gi, say: 'skip, leave out' },
  { word: /\bcounted (?:dead letters|ones)\b/gi, say: 'dead letters' },
  { word: /\btruncated (?:heads?|ones)\b/gi, say: 'records without stored bytes' },
  { word: /\bbarred\b|\bbars? (?:every|its|the|a)\b/gi, say: 'stops' },
  { word: /\buntold\b/gi, say: 'without a log line' },
  { word: /\bso (?:many|much)(?=[\s.,;:])/gi, say: 'the number' },
  { word: /\bmend(?:s|ed|ing)?\b/gi, say: 'repair, fix, correct' },
  { word: /\bpark(?:s|ed|ing)?\b|park(?=Timer|AfterMs)/gi, say: 'release' },
  {
    word: /\b(?:its|their|one|this|next|has|have|had|takes?) turns?\b|\bin turns\b|(?:for|per|next)turn|waiting-for-turn/gi,
    say: 'the wait, round, slice',
  },
  {
    word: /\b(?:broker|kafka|topic|pool|connection)-watch\b|(?:broker|kafka|topic|pool|connection)Watch|\bwatch(?:es|ing) (?:the|its|a|one|each) (?:pool|topic|broker|chunk|attempt|log|wall)/gi,
    say: 'monitor, poll, attempt: an operator watches',
  },
  { word: /\brooms?\b|hasRoom/gi, say: 'capacity, space' },
  {
    word: /\b(?:told|telling)\b|\btells?\b(?! (?:customers|clients|its owner|me)\b)/gi,
    say: 'reports, shows, says, logs; distinguish: only people tell people',
  },
  // MongoDB is the store only where the engine's port is meant
  {
    word: /\bthe store\b/gi,
    say: 'MongoDB: the store is a port of the engine',
    within: /^docs\/(?!benchmarks|rebuilding|internals\/simulation)/,
  },
  {
    word: /(?<=^\s*[^\s/*][^\n]*['"`][^'"`\n]*)\bthe store\b/gm,
    say: 'MongoDB, in messages to operators',
    within: /^services\/.*(?<!\.test)\.ts$/,
  },
];

/** Lets a space of a pattern also match a line break inside a comment, or between the parts of a text. */
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
  const all = glob([
    '*.{md,mjs,ts}',
    'openapi.json',
    '{clients,docs,infra,services,shared,tests}/**/*.{ts,mjs,md,css,sh,yaml}',
  ]);
  const excluded = /node_modules|\/generated\/|typescript\/package\/|glossary\.test\.ts$/;
  const paths = (await Array.fromAsync(all)).filter((path) => !excluded.test(path)).sort();
  sources = await Promise.all(paths.map(async (path) => ({ path, text: await readFile(path, 'utf8') })));
});

test('no file has a retired word', () => {
  expect(sources.flatMap(findRetired)).toEqual([]);
  expect(sources.length).toBeGreaterThan(600);
});

test('the glossary has at most 50 terms', () => {
  const { text = '' } = sources.find(({ path }) => path === 'docs/glossary.md') ?? {};
  // The first two rows are the head and the rule of the table.
  const rows = text.split('\n').filter((line) => line.startsWith('| ')).length - 2;
  expect(rows).toBeGreaterThan(20);
  expect(rows).toBeLessThanOrEqual(50);
});
