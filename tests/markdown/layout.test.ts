import { glob, readFile } from 'node:fs/promises';

const linesMax = 250;
const columnsMax = 120;
const cellMax = 160;

type Page = { path: string; lines: string[] };
/** A line outside the blocks of code; `place` names its page and its number. */
type Line = { place: string; text: string };

const pages: Page[] = [];
beforeAll(async () => {
  const paths = await Array.fromAsync(glob(['*.md', '{clients,docs,infra}/**/*.md']));
  // CHANGELOG.md grows with each release.
  const excluded = /node_modules|typescript\/package\/|^CHANGELOG/;
  for (const path of paths.sort()) {
    if (excluded.test(path)) continue;
    const text = await readFile(path, 'utf8');
    pages.push({ path, lines: text.trimEnd().split('\n') });
  }
});

/** The lines of all pages outside their blocks of code. */
function linesOutsideCode(): Line[] {
  const outside: Line[] = [];
  for (const { path, lines } of pages) {
    let isCode = false;
    for (const [index, text] of lines.entries()) {
      const isFence = /^ *```/.test(text);
      if (isFence) isCode = !isCode;
      if (!isFence && !isCode) outside.push({ place: `${path}:${index + 1}`, text });
    }
  }
  return outside;
}

const isRow = ({ text }: Line) => /^ *\|/.test(text);
const isLink = ({ text }: Line) => /^!?\[[^\]]*\]\([^)]*\)$/.test(text);
const cellsOf = ({ text }: Line) => text.split(/(?<!\\)\|/).map((cell) => cell.trim());
const isRule = (cell: string) => /^[:-]+$/.test(cell);

test('a page has at most 250 lines', () => {
  const long = pages.filter(({ lines }) => lines.length > linesMax);
  expect(long.map(({ path, lines }) => `${path}: ${lines.length} lines`)).toEqual([]);
  expect(pages.length).toBeGreaterThan(50);
});

test('a line of prose has at most 120 columns unless it is a single link', () => {
  const prose = linesOutsideCode().filter((line) => !isRow(line) && !isLink(line));
  const wide = prose.filter(({ text }) => text.length > columnsMax);
  expect(wide.map(({ place, text }) => `${place}: ${text.length} columns`)).toEqual([]);
  expect(prose.length).toBeGreaterThan(1_000);
});

test('a cell of a table has at most 160 characters', () => {
  const isLong = (cell: string) => cell.length > cellMax && !isRule(cell);
  const rows = linesOutsideCode().filter(isRow);
  const long: string[] = [];
  for (const row of rows) {
    for (const cell of cellsOf(row).filter(isLong)) long.push(`${row.place}: ${cell}`);
  }
  expect(long).toEqual([]);
  expect(rows.length).toBeGreaterThan(100);
});
