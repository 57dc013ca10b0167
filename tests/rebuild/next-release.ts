import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A change of one file: `find` occurs once in it. */
export type Edit = { file: string; find: string; replace: string };

/** The sources of a later release, in a folder of their own. */
export async function nextRelease(edits: Edit[]) {
  const folder = await mkdtemp(join(tmpdir(), 'support-release-'));
  for (const part of ['services', 'shared', 'docs', 'package.json'])
    await cp(part, join(folder, part), { recursive: true });
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  for (const { file, find, replace } of edits) {
    const text = await readFile(join(folder, file), 'utf8');
    if (text.split(find).length !== 2) throw new Error(`${file} must contain once: ${find}`);
    await writeFile(
      join(folder, file),
      text.replace(find, () => replace),
    );
  }
  return { folder, close: () => rm(folder, { recursive: true, force: true }) };
}
