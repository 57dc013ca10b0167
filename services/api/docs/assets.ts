import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fixedContent } from '../http/responses.ts';

const { resolve } = createRequire(import.meta.url);
const ownFile = (name: string) => new URL(`browser/${name}`, import.meta.url).pathname;
const sharedFile = (name: string) => new URL(`../../../shared/pages/${name}`, import.meta.url).pathname;

/** Every file that pages load. No other file can be served. */
const files = [
  { name: 'pico.css', file: resolve('@picocss/pico/css/pico.conditional.min.css'), type: 'text/css' },
  { name: 'site.css', file: sharedFile('site.css'), type: 'text/css' },
  { name: 'docs.css', file: ownFile('docs.css'), type: 'text/css' },
  { name: 'copy.mjs', file: ownFile('copy.mjs'), type: 'text/javascript' },
  { name: 'icon.svg', file: sharedFile('icon.svg'), type: 'image/svg+xml' },
];

/** Reads the assets. `folder` is the one in their URLs; it changes when an asset changes. */
export function createAssets() {
  const hash = createHash('sha256');
  const assets = files.map(({ name, file, type }) => {
    const content = readFileSync(file);
    hash.update(content);
    return { name, send: fixedContent(content, type) };
  });
  const folder = `/docs/assets/${hash.digest('hex').slice(0, 12)}`;
  return {
    folder,
    /** The asset at a path; `isCurrent` is false if the folder is of another version of the service. */
    at: (path: string) => {
      const [, parent, named] = /^(\/docs\/assets\/[0-9a-f]{12})\/([a-z.-]+)$/.exec(path) ?? [];
      const asset = assets.find(({ name }) => name === named);
      return asset && { ...asset, isCurrent: parent === folder };
    },
  };
}
