import { hash } from 'node:crypto';
import type { Context } from './context.ts';

/**
 * The ETag of a content. It depends on the content only, not on `Data-As-Of` or compression. It is weak, because
 * compressed bytes are not compared.
 */
export const etagOf = (content: Buffer | string): string =>
  `W/"${hash('sha256', content, 'base64url').slice(0, 22)}"`;

/**
 * Sets the ETag of the response, and the status 304 if `If-None-Match` contains it. `Cache-Control: no-cache` in the
 * request is ignored: it is meant for caches, and clients send it together with an ETag.
 */
export function isNotModified(context: Context, etag: string): boolean {
  context.set('ETag', etag);
  const given = context.get('If-None-Match');
  const etags: string[] = given.match(/"[^"]*"/g) ?? [];
  const matches = given.trim() === '*' || etags.includes(etag.slice('W/'.length));
  if (matches) context.status = 304;
  return matches;
}
