import { glob, readFile } from 'node:fs/promises';

/** A word that has given way to the field's own, and where it is looked for: everywhere, or `within` a folder. */
type Retired = { word: string; say: string; pattern: RegExp; within?: string };

const retired: Retired[] = [
  {
    word: 'letter, without "dead"',
    say: 'dead letter',
    pattern: /(?<!dead[\s*/-]{1,12})\bletters?\b(?!,? (?:and )?digits)/gi,
    within: 'services/projector/',
  },
  { word: 'set aside', say: 'dead-lettered, stored as a dead letter', pattern: /\bsets? aside\b/gi },
  { word: 'the bus', say: 'the Kafka topics', pattern: /\b(?:the|a) bus\b|\bBusRecord\b/gi },
  { word: 'the product', say: 'the source system', pattern: /\bthe product\b/gi },
  { word: 'lapsed', say: 'expired', pattern: /\blaps(?:e|es|ed|ing)\b/gi },
  { word: 'desk', say: 'sample data', pattern: /\bdesks?\b/gi },
  { word: 'leavings', say: 'handles', pattern: /\bleavings\b/gi },
  { word: 'last will', say: 'on the death of the parent', pattern: /\blast will\b|\blastWill\b/g },
  { word: 'rig', say: 'test environment', pattern: /\brigs?\b/gi },
  { word: 'bury', say: 'to make a tombstone of', pattern: /\bbur(?:y|ied|ies)\b/gi },
  { word: 'untold', say: 'not propagated', pattern: /\buntold\b/gi },
  { word: 'unless told', say: 'by default', pattern: /\bunless told\b/gi },
  { word: 'own state', say: 'state', pattern: /\bown states?\b/gi },
  { word: 'wrong words', say: 'usage error', pattern: /\bwrong words\b/gi },
  {
    word: 'fault',
    say: 'error, issue',
    pattern: /(?<![/:]|planted )\bfaults?\b(?! (?:tests|injection))/gi,
    within: 'services/',
  },
  { word: 'under way', say: 'in progress', pattern: /\bunder way\b/gi },
  { word: 'at the least', say: 'at least', pattern: /\bat the least\b/gi },
  { word: 'so many, so much', say: 'the number', pattern: /\bso (?:many|much)(?=[\s.,;:])/gi },
  { word: 'draft', say: 'pending write', pattern: /\bdrafts?\b/gi, within: 'services/projector/' },
  { word: 'checkpoint', say: 'throwIfAborted', pattern: /\bcheckpoints?\b/gi, within: 'services/projector/' },
  {
    word: 'a retired name',
    say: 'the name that it has now',
    pattern:
      /\b(?:keptUntil|giveBack|foresee|insured|letterOf|letterId|removeLetters|fanned|cutAt|Step|Views?|Printed|TicketOwn)\b/g,
  },
  {
    word: 'a retired file name',
    say: 'the name that it has now',
    pattern: /\b(?:whole-batches|one-at-a-time|tls-front|unparsed-request|well-formed\.ts|find-own)\b/g,
  },
];

let sources: { path: string; text: string }[] = [];
beforeAll(async () => {
  const paths: string[] = [];
  for await (const path of glob(['README.md', '{services,shared,infra,docs}/**/*.{ts,mjs,md,css,sh,yaml}']))
    paths.push(path);
  sources = await Promise.all(
    paths.sort().map(async (path) => ({ path, text: await readFile(path, 'utf8') })),
  );
});

test.each(retired)('nothing says $word: say $say', ({ pattern, within = '' }) => {
  const found = sources
    .filter(({ path }) => path.startsWith(within))
    .flatMap(({ path, text }) =>
      [...text.matchAll(pattern)].map(({ index }) => `${path}:${text.slice(0, index).split('\n').length}`),
    );
  expect(found).toEqual([]);
});

test('the sources are read', () => {
  expect(sources.length).toBeGreaterThan(300);
});

test('the glossary has 40 terms at most', () => {
  const { text = '' } = sources.find(({ path }) => path === 'docs/glossary.md') ?? {};
  // Its head and rule are no terms.
  const rows = text.split('\n').filter((line) => line.startsWith('| ')).length - 2;
  expect(rows).toBeGreaterThan(20);
  expect(rows).toBeLessThanOrEqual(40);
});
