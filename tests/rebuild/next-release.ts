import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { projectionVersion } from '../../shared/control/generations.ts';

export type Release = { folder: string; projectionVersion: number; remove: () => Promise<void> };

/** The changes of the next release: a tag's name that a ticket embeds ends in an exclamation mark. */
const edits: { file: string; find: string; replace: string }[] = [
  {
    file: 'shared/control/generations.ts',
    find: `export const projectionVersion = ${projectionVersion};`,
    replace: `export const projectionVersion = ${projectionVersion + 1};`,
  },
  {
    file: 'shared/control/generations.ts',
    find: 'export const servedVersions: readonly number[] = [projectionVersion',
    replace: `export const servedVersions: readonly number[] = [projectionVersion, ${projectionVersion}`,
  },
  {
    file: 'services/projector/projections/ticket.ts',
    // The later `tags` of the literal wins.
    find: 'topics,\n      moreAfter: conversations.moreAfter',
    replace:
      'topics, tags: tags.map(({ id, name }) => ({ id, name: `${name}!` })), moreAfter: conversations.moreAfter',
  },
];

/** The sources of a release with another projection version, in a folder of their own. */
export async function nextRelease(): Promise<Release> {
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
  return {
    folder,
    projectionVersion: projectionVersion + 1,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
