import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { pagesWithTables, settingVariables, withTables } from '../../infra/docs-tables/tables.ts';
import { createRoutes } from '../../services/api/resources/routes.ts';
import { parseArguments } from '../../services/cli/command.ts';

type Page = { path: string; text: string };

/** README.md, CHANGELOG.md and every page of docs/, in the order of their paths. */
let pages: Page[] = [];
beforeAll(async () => {
  const paths = ['README.md', 'CHANGELOG.md', ...(await Array.fromAsync(glob('docs/**/*.md')))];
  pages = await Promise.all(paths.sort().map(async (path) => ({ path, text: await readFile(path, 'utf8') })));
});
const textOf = (wanted: string) => pages.find(({ path }) => path === wanted)?.text ?? '';

const fence = /^ *```[^]*?^ *```$/gm;

/** The text of a page without its blocks of code. */
const proseOf = ({ text }: Page): string => text.replace(fence, '');

/** The texts in backticks in the prose of a page. */
const codesIn = (page: Page): string[] =>
  [...proseOf(page).matchAll(/`([^`\n]+)`/g)].map(([, code]) => String(code));

/** `<page>: <text>` for each text that `textsIn` finds in a page and that is not right. */
const failures = (textsIn: (page: Page) => string[], isRight: (text: string) => boolean) =>
  pages.flatMap((page) =>
    textsIn(page)
      .filter((text) => !isRight(text))
      .map((text) => `${page.path}: ${text}`),
  );

const firstGroups = (pattern: RegExp, text: string) =>
  [...text.matchAll(pattern)].map(([, found]) => String(found));

test.each(pagesWithTables)(
  '%s has the tables that the code has (`npm run docs` writes them)',
  async (path) => {
    const text = await readFile(path, 'utf8');
    expect(text).toMatch('<!-- table: ');
    expect(text).toBe(withTables(text));
  },
);

test('every link leads to a file, a folder or a heading that exists', async () => {
  const headings = new Map(pages.map((page) => [page.path, headingsOf(page)]));
  const broken = pages.flatMap((page) =>
    firstGroups(/\]\((?!https?:)([^)]+)\)/g, proseOf(page))
      .filter((link) => {
        const [file = '', heading] = link.split('#');
        const path = file === '' ? page.path : join(dirname(page.path), file);
        return !existsSync(path) || (heading !== undefined && !headings.get(path)?.includes(heading));
      })
      .map((link) => `${page.path}: ${link}`),
  );
  expect(broken).toEqual([]);
  expect(headings.size).toBeGreaterThan(10);
});

/** The names by which links reach the headings of a page. */
const headingsOf = (page: Page) =>
  firstGroups(/^#+ (.+)$/gm, proseOf(page)).map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );

/** Texts in backticks that have a slash, but do not name a path in this repository. */
const notPaths = [
  '@support-read-models/client', // a package
  'application/cloudevents', // a media type
  'application/cloudevents+json', // a media type
  'artifacts/docs', // written by a test run
  'artifacts/console', // written by a test run
];

test('every file and folder in backticks exists up to a placeholder such as <name>', () => {
  const paths = (page: Page) =>
    codesIn(page).filter((code) => /^[\w.@-][\w.@<>*+-]*\/[\w.@<>*/+-]*$/.test(code));
  const exists = (path: string) =>
    notPaths.includes(path) || existsSync(path.replace(/[^/]*[<*].*$/, '') || '.');
  expect(failures(paths, exists)).toEqual([]);
  expect(pages.flatMap(paths).length).toBeGreaterThan(20);
});

test('a file that a page names after a name, as in `name` in `path`, contains the name', async () => {
  const texts = new Map<string, string>();
  const missing: string[] = [];
  for (const page of pages) {
    for (const [, name = '', path = ''] of proseOf(page).matchAll(/`'?(\w+)'?`\s+in\s+`([\w./-]+\.ts)`/g)) {
      texts.set(path, texts.get(path) ?? (await readFile(path, 'utf8')));
      if (!texts.get(path)?.match(`\\b${name}\\b`)) missing.push(`${page.path}: ${name} in ${path}`);
    }
  }
  expect(missing).toEqual([]);
  expect(texts.size).toBeGreaterThan(3);
});

describe('the tree of the README', () => {
  const folders = new Set<string>();
  let lines: string[] = [];
  beforeAll(async () => {
    for await (const path of glob('{clients,infra,services,shared,tests}/**/*.{ts,mjs,sh,css}')) {
      if (!/node_modules|\/generated\//.test(path)) folders.add(`${dirname(path)}/`);
    }
    lines = firstGroups(/^((?:[a-z-]+\/)+(?:\*\*)?) +\S/gm, textOf('README.md'));
  });

  test('has only folders that exist', () => {
    expect(lines.filter((line) => !existsSync(line.replace('**', '')))).toEqual([]);
    expect(lines.length).toBeGreaterThan(20);
  });

  test('has every folder with sources, or a parent of it that ends in `**`', () => {
    const isListed = (folder: string) =>
      lines.some((line) => (line.endsWith('**') ? folder.startsWith(line.slice(0, -2)) : folder === line));
    expect([...folders].filter((folder) => !isListed(folder))).toEqual([]);
    expect(folders.size).toBeGreaterThan(60);
  });

  test('is complemented by docs/tests.md, which names each folder of tests/', () => {
    const text = textOf('docs/tests.md');
    const ofTests = [...folders].flatMap((folder) => folder.match(/^tests\/[a-z-]+/) ?? []);
    expect(ofTests.filter((folder) => !text.includes(folder))).toEqual([]);
  });
});

test('a list that the pages on paging do not name is in the order of its creation', () => {
  const guide = textOf('docs/guides/paging.md');
  const internals = textOf('docs/internals/paging.md');
  const lists = createRoutes({ now: () => new Date(), brand: '' })
    .filter(({ query }) => 'startingAfter' in query.shape)
    .map(({ path, description }) => ({ name: `\`${path.replace(':id', '{id}')}\``, description }));
  // By creation, oldest first.
  const others = lists.filter(({ name }) => !guide.includes(name));
  expect(others.filter(({ description }) => !/by creation.*, oldest first/.test(description))).toEqual([]);
  // By the index `created`, which tests/api/explain.test.ts proves.
  const unnamed = lists.filter(({ name }) => !internals.includes(name)).map(({ name }) => name);
  expect(unnamed).toEqual(others.map(({ name }) => name));
});

/** The lists of an organization, with the fields of their items. */
const listsOfOrganization = createRoutes({ now: () => new Date(), brand: '' })
  .filter(({ path, query }) => 'startingAfter' in query.shape && !path.includes(':id'))
  .map(({ path, response }) => {
    const { shape } = response as z.ZodObject<{ data: z.ZodArray<z.ZodObject> }>;
    return { name: path.replace('/v1/', ''), fields: Object.keys(shape.data.element.shape) };
  });
const codeOf = (guide: string) => firstGroups(/```([^]*?)```/g, textOf(`docs/guides/${guide}.md`)).join('');

test.each(['airbyte', 'dlt', 'singer'])('the guide %s reads every list of an organization', (guide) => {
  const code = codeOf(guide);
  const isRead = ({ name }: { name: string }) => new RegExp(`["/ ]${name}["\\s]`).test(code);
  expect(listsOfOrganization.filter((list) => !isRead(list))).toEqual([]);
});

// The guide to dlt declares no fields, because dlt finds them in the data.
test.each(['airbyte', 'singer'])('the guide %s declares every field of the lists', (guide) => {
  const words = new Set(codeOf(guide).match(/\w+/g));
  const missing = listsOfOrganization.flatMap(({ name, fields }) =>
    fields.filter((field) => !words.has(field)).map((field) => `${name}: ${field}`),
  );
  expect(missing).toEqual([]);
});

test('package.json has every npm script that a page runs', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: object };
  const commands = ({ text }: Page) => firstGroups(/npm run (?:-s |--silent )?([a-z][a-z:-]*)/g, text);
  expect(failures(commands, (name) => name in scripts)).toEqual([]);
  expect(pages.flatMap(commands).length).toBeGreaterThan(10);
});

/** Placeholders, and a field of a release to come, in the commands of the CLI. */
const placeholders = new Map([
  ['<reason>', 'bad_data'],
  ['<Request-Id>', 'req_01HNZX8JGFACFA36RBXDHEQN6E'],
  ['ticket:joined.severity', 'ticket:joined.tags'],
]);

test('the CLI accepts the arguments of every command on the pages', () => {
  const commands = ({ text }: Page) =>
    firstGroups(/npx support-cli ([^`#\n]+)/g, text.replaceAll(/\\\n\s*/g, '').replaceAll(/[[\]]/g, ''));
  const words = (command: string) =>
    firstGroups(/('[^']*'|"[^"]*"|\S+)/g, command)
      .map((word) => word.replaceAll(/['"]/g, ''))
      .map((word) => placeholders.get(word) ?? word);
  expect(failures(commands, (command) => !('usageError' in parseArguments(words(command))))).toEqual([]);
  expect(pages.flatMap(commands).length).toBeGreaterThan(40);
});

test('the changelog begins with the version of the client, the OpenAPI document and the chart', async () => {
  const json = async (path: string) =>
    JSON.parse(await readFile(path, 'utf8')) as Manifest & { info: Manifest };
  const [newest] = firstGroups(/^## (.+)$/gm, await readFile('CHANGELOG.md', 'utf8'));
  const { version } = await json('package.json');
  expect(newest).toBe(version);
  expect((await json('clients/typescript/package.json')).version).toBe(version);
  expect((await json('openapi.json')).info.version).toBe(version);
  expect(await readFile('infra/helm/Chart.yaml', 'utf8')).toContain(`appVersion: ${version}\n`);
});
type Manifest = { version: string };

/** Names that have the form of a setting, but do not name one. */
const notSettings = [
  'NODE_OPTIONS',
  'NODE_ENV', // read by npm
  'NODE_IMAGE', // an argument of infra/images/Dockerfile
  'MALLOC_MMAP_THRESHOLD_',
  'MALLOC_ARENA_MAX',
  'API', // set by readers of docs/guides
  'API_KEY', // set by readers of docs/guides
  'TAP_SUPPORT_API', // set by readers of docs/guides/singer.md
  'TAP_SUPPORT_API_KEY', // set by readers of docs/guides/singer.md
  'DEV_STORE', // read by infra/dev-servers
  'UPDATE_GOLDEN', // read by tests/support/golden.ts
  'KUBEBUILDER_ASSETS', // read by infra/kubernetes
  'TEST_SEED', // read by tests/run.ts
  'NODE_EXTRA_CA_CERTS', // read by Node.js
];

test('every environment variable on a page is a setting', () => {
  const variables = (page: Page) => [
    ...codesIn(page).flatMap((code) => firstGroups(/(?<![A-Z_])([A-Z]+(?:_[A-Z]+)+)(?![A-Z_])/g, code)),
    ...firstGroups(/\b([A-Z]+(?:_[A-Z]+)*)=/g, page.text),
  ];
  expect(
    failures(
      variables,
      // An operator may add OpenTelemetry, which reads these variables.
      (name) => [...settingVariables, ...notSettings].includes(name) || name.startsWith('OTEL_'),
    ),
  ).toEqual([]);
  expect(pages.flatMap(variables).length).toBeGreaterThan(40);
});

test('the README has at most 120 lines', () => {
  const lines = textOf('README.md').trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.length).toBeLessThanOrEqual(120);
});
