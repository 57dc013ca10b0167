import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Encoding, cacheEncoded } from '../http/responses.ts';

export type Assets = {
  /** The folder in the URLs of assets; it changes when an asset changes. */
  folder: string;
  /** The asset at a path; `isCurrent` is false if the folder is of another version of the service. */
  at: (path: string) => { name: string; type: string; isCurrent: boolean } | null;
  read: (name: string, encoding: Encoding) => Promise<Buffer>;
};

const { resolve } = createRequire(import.meta.url);
const fileOf = (name: string) => new URL(`browser/${name}`, import.meta.url).pathname;
const sharedFile = (name: string) => new URL(`../../../shared/pages/${name}`, import.meta.url).pathname;

/** Every file that pages load. No other file can be served. */
const files = new Map([
  ['pico.css', { file: resolve('@picocss/pico/css/pico.conditional.min.css'), type: 'text/css' }],
  ['site.css', { file: sharedFile('site.css'), type: 'text/css' }],
  ['docs.css', { file: fileOf('docs.css'), type: 'text/css' }],
  ['copy.mjs', { file: fileOf('copy.mjs'), type: 'text/javascript' }],
  ['icon.svg', { file: sharedFile('icon.svg'), type: 'image/svg+xml' }],
]);

/** Compresses each asset on first request and caches it. */
export function createAssets(): Assets {
  const hash = createHash('sha256');
  for (const { file } of files.values()) hash.update(readFileSync(file));
  const folder = `/docs/assets/${hash.digest('hex').slice(0, 12)}`;
  const contents = new Map([...files].map(([name, { file }]) => [name, cacheEncoded(() => readFile(file))]));
  return {
    folder,
    at: (path) => {
      const [, parent, name = ''] = /^(\/docs\/assets\/[0-9a-f]{12})\/([a-z.-]+)$/.exec(path) ?? [];
      const found = files.get(name);
      return found ? { name, type: found.type, isCurrent: parent === folder } : null;
    },
    read: (name, encoding) => {
      const content = contents.get(name);
      if (!content) throw new Error(`there is no asset ${name}`);
      return content(encoding);
    },
  };
}
