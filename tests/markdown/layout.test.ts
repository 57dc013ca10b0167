import { glob, readFile } from 'node:fs/promises';

const linesMax = 250;
const columnsMax = 120;
const cellMax = 160;

type Page = { path: string; lines: string[] };

let pages: Page[] = [];
beforeAll(async () => {
  const paths = await Array.fromAsync(glob(['*.md', '{clients,docs,infra}/**/*.md']));
  // CHANGELOG.md grows with each release.
  const excluded = /node_modules|typescript\/package\/|^CHANGELOG/;
  pages = await Promise.all(
    paths
      .filter((path) => !excluded.test(path))
      .sort()
      .map(async (path) => ({ path, lines: (await readFile(path, 'utf8')).trimEnd().split('\n') })),
  );
});

/** The lines of a page outside its blocks of code, with their numbers. */
function linesOutsideCode({ lines }: Page): { number: number; line: string }[] {
  let isCode = false;
  return lines.flatMap((line, index) => {
    const isFence = /^ *```/.test(line);
    if (isFence) isCode = !isCode;
    return isFence || isCode ? [] : [{ number: index + 1, line }];
  });
}

const isRow = (line: string) => /^ *\|/.test(line);
const cellsOf = (line: string) => line.split(/(?<!\\)\|/).map((cell) => cell.trim());
const isRule = (cell: string) => /^[:-]+$/.test(cell);

test('a page has at most 250 lines', () => {
  const long = pages.filter(({ lines }) => lines.length > linesMax);
  expect(long.map(({ path, lines }) => `${path}: ${lines.length} lines`)).toEqual([]);
  expect(pages.length).toBeGreaterThan(50);
});

test('a line of prose has at most 120 columns unless it is a single link', () => {
  const isWide = ({ line }: { line: string }) => line.length > columnsMax && !isRow(line);
  const wide = pages.flatMap((page) =>
    linesOutsideCode(page)
      .filter(isWide)
      .filter(({ line }) => !/^!?\[[^\]]*\]\([^)]*\)$/.test(line))
      .map(({ number, line }) => `${page.path}:${number}: ${line.length} columns`),
  );
  expect(wide).toEqual([]);
});

test('a cell of a table has at most 160 characters', () => {
  const isLong = (cell: string) => cell.length > cellMax && !isRule(cell);
  const long = pages.flatMap((page) =>
    linesOutsideCode(page)
      .filter(({ line }) => isRow(line))
      .flatMap(({ number, line }) =>
        cellsOf(line)
          .filter(isLong)
          .map((cell) => `${page.path}:${number}: ${cell}`),
      ),
  );
  expect(long).toEqual([]);
});
