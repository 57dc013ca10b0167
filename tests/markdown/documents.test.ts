import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { pagesWithTables, settingVariables, withTables } from '../../infra/docs-tables/tables.ts';
import { createRoutes } from '../../services/api/resources/routes.ts';
import { parseArguments } from '../../services/cli/command.ts';

type Page = { path: string; text: string };

/** README.md, CHANGELOG.md and every page of docs/, in the order of their paths. */
const pages: Page[] = [];
beforeAll(async () => {
  const paths = ['README.md', 'CHANGELOG.md', ...(await Array.fromAsync(glob('docs/**/*.md')))];
  for (const path of paths.sort()) pages.push({ path, text: await readFile(path, 'utf8') });
});

function textOf(path: string): string {
  const page = pages.find((candidate) => candidate.path === path);
  if (!page) throw new Error(`there is no page ${path}`);
  return page.text;
}

const fence = /^ *```[^]*?^ *```$/gm;

/** The text of a page without its blocks of code. */
const proseOf = ({ text }: Page): string => text.replace(fence, '');

/** The text of the first group of the pattern, for each match. */
const firstGroups = (pattern: RegExp, text: string) =>
  [...text.matchAll(pattern)].map(([, found]) => String(found));

/** The texts in backticks in the prose of a page. */
const codesIn = (page: Page): string[] => firstGroups(/`([^`\n]+)`/g, proseOf(page));

/** `<page>: <text>` for each text that `textsIn` finds in a page and that is not right. */
function failures(
  textsIn: (page: Page) => string[],
  isRight: (text: string, page: Page) => boolean,
): string[] {
  const failed: string[] = [];
  for (const page of pages) {
    for (const text of textsIn(page)) {
      if (!isRight(text, page)) failed.push(`${page.path}: ${text}`);
    }
  }
  return failed;
}

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
  const links = (page: Page) => firstGroups(/\]\((?!https?:)([^)]+)\)/g, proseOf(page));
  const leadsSomewhere = (link: string, page: Page) => {
    const [file = '', heading] = link.split('#');
    const path = file === '' ? page.path : join(dirname(page.path), file);
    if (!existsSync(path)) return false;
    return heading === undefined || headings.get(path)?.includes(heading) === true;
  };
  expect(failures(links, leadsSomewhere)).toEqual([]);
  expect(headings.size).toBeGreaterThan(10);
});

/** The names by which links reach the headings of a page. */
function headingsOf(page: Page): string[] {
  const headings = firstGroups(/^#+ (.+)$/gm, proseOf(page));
  return headings.map((heading) => {
    const plain = heading.toLowerCase().replace(/[^\w -]/g, '');
    return plain.replaceAll(' ', '-');
  });
}

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
  const exists = (path: string) => {
    const beforePlaceholder = path.replace(/[^/]*[<*].*$/, '');
    return notPaths.includes(path) || existsSync(beforePlaceholder || '.');
  };
  expect(failures(paths, exists)).toEqual([]);
  expect(pages.flatMap(paths).length).toBeGreaterThan(20);
});

test('a file that a page names after a name, as in `name` in `path`, contains the name', async () => {
  const texts = new Map<string, string>();
  const missing: string[] = [];
  const nameInPath = /`'?(\w+)'?`\s+in\s+`([\w./-]+\.ts)`/g;
  for (const page of pages) {
    for (const [, name = '', path = ''] of proseOf(page).matchAll(nameInPath)) {
      const text = texts.get(path) ?? (await readFile(path, 'utf8'));
      texts.set(path, text);
      if (!new RegExp(`\\b${name}\\b`).test(text)) missing.push(`${page.path}: ${name} in ${path}`);
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
    const covers = (line: string, folder: string) =>
      line.endsWith('**') ? folder.startsWith(line.slice(0, -'**'.length)) : folder === line;
    const isListed = (folder: string) => lines.some((line) => covers(line, folder));
    expect([...folders].filter((folder) => !isListed(folder))).toEqual([]);
    expect(folders.size).toBeGreaterThan(60);
  });

  test('is complemented by docs/tests.md, which names each folder of tests/', () => {
    const text = textOf('docs/tests.md');
    const ofTests = firstGroups(/^(tests\/[a-z-]+)/gm, [...folders].join('\n'));
    expect(ofTests.filter((folder) => !text.includes(folder))).toEqual([]);
  });
});

/** The routes whose answers are pages of a list. */
const pagedRoutes = createRoutes({ now: () => new Date(), brand: '' }).filter(
  ({ query }) => 'startingAfter' in query.shape,
);

test('a list that the pages on paging do not name is in the order of its creation', () => {
  const guide = textOf('docs/guides/paging.md');
  const internals = textOf('docs/internals/paging.md');
  const lists = pagedRoutes.map(({ path, description }) => {
    const name = `\`${path.replace(':id', '{id}')}\``;
    return { name, description };
  });
  const unnamedByGuide = lists.filter(({ name }) => !guide.includes(name));
  const inAnotherOrder = unnamedByGuide.filter(
    ({ description }) => !/by creation.*, oldest first/.test(description),
  );
  expect(inAnotherOrder).toEqual([]);
  // The internals name the lists that do not use the index `created`: tests/api/explain.test.ts proves the indexes.
  const unnamedByInternals = lists.filter(({ name }) => !internals.includes(name));
  expect(unnamedByInternals).toEqual(unnamedByGuide);
});

/** The lists of an organization, with the fields of their items. */
const listsOfOrganization = pagedRoutes
  .filter(({ path }) => !path.includes(':id'))
  .map(({ path, response }) => {
    const { shape } = response as z.ZodObject<{ data: z.ZodArray<z.ZodObject> }>;
    return { name: path.replace('/v1/', ''), fields: Object.keys(shape.data.element.shape) };
  });

/** All blocks of code of a guide. */
const codeOf = (guide: string) => firstGroups(/```([^]*?)```/g, textOf(`docs/guides/${guide}.md`)).join('');

test.each(['airbyte', 'dlt', 'singer'])('the guide %s reads every list of an organization', (guide) => {
  const code = codeOf(guide);
  const isRead = (name: string) => new RegExp(`["/ ]${name}["\\s]`).test(code);
  expect(listsOfOrganization.filter(({ name }) => !isRead(name))).toEqual([]);
});

// The guide to dlt declares no fields, because dlt finds them in the data.
test.each(['airbyte', 'singer'])('the guide %s declares every field of the lists', (guide) => {
  const words = new Set(codeOf(guide).match(/\w+/g));
  const missing: string[] = [];
  for (const { name, fields } of listsOfOrganization) {
    const undeclared = fields.filter((field) => !words.has(field));
    missing.push(...undeclared.map((field) => `${name}: ${field}`));
  }
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
  const commands = ({ text }: Page) => {
    const onOneLine = text.replaceAll(/\\\n\s*/g, '');
    const withoutBrackets = onOneLine.replaceAll(/[[\]]/g, '');
    return firstGroups(/npx support-cli ([^`#\n]+)/g, withoutBrackets);
  };
  const argumentsOf = (command: string) => {
    const words = firstGroups(/('[^']*'|"[^"]*"|\S+)/g, command);
    const unquoted = words.map((word) => word.replaceAll(/['"]/g, ''));
    return unquoted.map((word) => placeholders.get(word) ?? word);
  };
  const isAccepted = (command: string) => !('usageError' in parseArguments(argumentsOf(command)));
  expect(failures(commands, isAccepted)).toEqual([]);
  expect(pages.flatMap(commands).length).toBeGreaterThan(40);
});

test('the changelog begins with the version of the client, the OpenAPI document and the chart', async () => {
  type Versioned = { version: string };
  const readJson = async (path: string) =>
    JSON.parse(await readFile(path, 'utf8')) as Versioned & { info: Versioned };
  const [newest] = firstGroups(/^## (.+)$/gm, textOf('CHANGELOG.md'));
  const { version } = await readJson('package.json');
  const client = await readJson('clients/typescript/package.json');
  const openapi = await readJson('openapi.json');
  const chart = await readFile('infra/helm/Chart.yaml', 'utf8');
  expect({ newest, client: client.version, openapi: openapi.info.version }).toEqual({
    newest: version,
    client: version,
    openapi: version,
  });
  expect(chart).toContain(`appVersion: ${version}\n`);
});

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
  const named = /(?<![A-Z_])([A-Z]+(?:_[A-Z]+)+)(?![A-Z_])/g;
  const assigned = /\b([A-Z]+(?:_[A-Z]+)*)=/g;
  const variables = (page: Page) => [
    ...firstGroups(named, codesIn(page).join('\n')),
    ...firstGroups(assigned, page.text),
  ];
  const known = new Set([...settingVariables, ...notSettings]);
  // An operator may add OpenTelemetry, which reads variables with the prefix OTEL_.
  const isKnown = (name: string) => known.has(name) || name.startsWith('OTEL_');
  expect(failures(variables, isKnown)).toEqual([]);
  expect(pages.flatMap(variables).length).toBeGreaterThan(40);
});

test('the README has at most 120 lines', () => {
  const lines = textOf('README.md').trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.length).toBeLessThanOrEqual(120);
});
