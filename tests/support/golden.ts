import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';

/**
 * The entries of a file that records stored documents, cursors or names of topics, which no release may change. It has
 * an entry for each of `actual`: `UPDATE_GOLDEN=1` adds missing entries, and never replaces an entry.
 */
export async function goldenOf<T>(path: string, actual: Record<string, T>): Promise<Record<string, T>> {
  const stored = existsSync(path) ? (JSON.parse(await readFile(path, 'utf8')) as Record<string, T>) : {};
  const added = Object.keys(actual).filter((name) => !(name in stored));
  if (added.length === 0) return stored;
  if (process.env.UPDATE_GOLDEN !== '1')
    throw new Error(
      `${added.join(', ')}: new in ${path}. Run this test with UPDATE_GOLDEN=1, which adds it.`,
    );
  const all = { ...actual, ...stored };
  await writeFile(path, JSON.stringify(all));
  execFileSync(process.execPath, ['node_modules/prettier/bin/prettier.cjs', '--write', path]);
  return all;
}
