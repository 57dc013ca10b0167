import { hash } from 'node:crypto';
import type { Context } from './context.ts';

/**
 * The ETag of a body. Equal texts have equal ETags, even with another `Data-As-Of` or compression. The ETag is weak,
 * because the compressed bytes of equal texts may differ.
 */
export const etagOf = (content: Buffer | string): string =>
  `W/"${hash('sha256', content, 'base64url').slice(0, 22)}"`;

/**
 * Sets the ETag of the response, and the status 304 if `If-None-Match` contains it. Returns whether it does. Ignores
 * `Cache-Control: no-cache` in the request, because clients send it to caches together with an ETag.
 */
export function isNotModified(context: Context, etag: string): boolean {
  context.set('ETag', etag);
  const ifNoneMatch = context.get('If-None-Match');
  const etags: string[] = ifNoneMatch.match(/"[^"]*"/g) ?? [];
  const matches = ifNoneMatch.trim() === '*' || etags.includes(etag.slice('W/'.length));
  if (matches) context.status = 304;
  return matches;
}
