import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fixedContent } from '../http/fixed-content.ts';

const { resolve } = createRequire(import.meta.url);
const ownFile = (name: string) => join(import.meta.dirname, 'browser', name);
const sharedFile = (name: string) => join(import.meta.dirname, '../../../shared/pages', name);

/** Every file that pages load. No other file can be served. */
const files = [
  { name: 'pico.css', file: resolve('@picocss/pico/css/pico.conditional.min.css'), type: 'text/css' },
  { name: 'site.css', file: sharedFile('site.css'), type: 'text/css' },
  { name: 'docs.css', file: ownFile('docs.css'), type: 'text/css' },
  { name: 'copy.mjs', file: ownFile('copy.mjs'), type: 'text/javascript' },
  { name: 'icon.svg', file: sharedFile('icon.svg'), type: 'image/svg+xml' },
];

/** The path of an asset. */
export const assetPath = (name: string) => `/docs/assets/${name}`;

export const readAssets = () =>
  files.map(({ name, file, type }) => {
    return { path: assetPath(name), send: fixedContent(readFileSync(file), type) };
  });
