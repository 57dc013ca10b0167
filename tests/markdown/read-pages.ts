import { glob, readFile } from 'node:fs/promises';

export type Page = { path: string; text: string };

/** README.md, CHANGELOG.md and every page of docs/, in the order of their paths. */
export async function readPages(): Promise<Page[]> {
  const paths = ['README.md', 'CHANGELOG.md'];
  for await (const path of glob('docs/**/*.md')) paths.push(path);
  return Promise.all(paths.sort().map(async (path) => ({ path, text: await readFile(path, 'utf8') })));
}

const fence = /^ *```[^]*?^ *```$/gm;

/** The text of a page without its blocks of code. */
export const proseOf = ({ text }: Page): string => text.replace(fence, '');

/** The texts in backticks in the prose of a page. */
export const codesIn = (page: Page): string[] =>
  [...proseOf(page).matchAll(/`([^`\n]+)`/g)].map(([, code]) => String(code));
