import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { release } from '../../shared/runtime/release.ts';

/** The sources that decide how a document is joined. */
const folders = ['../../shared/documents/', './projections/', './materialize/'];

/**
 * Names the code that joins documents by its release and a digest of its sources, such as `1.0.0+5fd1a7c0e3b2`. The
 * release is not enough, because two builds of one release may join documents in different ways.
 */
export const joinedBy = `${release}+${digestOf(folders)}`;

function digestOf(paths: string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) {
    const folder = new URL(path, import.meta.url);
    const sources = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    for (const name of sources.toSorted()) hash.update(name).update(readFileSync(new URL(name, folder)));
  }
  return hash.digest('hex').slice(0, 12);
}
