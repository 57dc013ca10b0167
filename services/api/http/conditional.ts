import { hash } from 'node:crypto';
import type { Context } from './request-state.ts';

/**
 * Answers with a text, or with 304 when the client has it already. The tag is made of the text alone: it
 * is the same whatever `Data-As-Of` or the compression is, and weak, as compressed bytes are not compared.
 */
export function sendText(context: Context, text: string, type = 'application/json'): void {
  context.type = type;
  context.set('ETag', `W/"${hash('sha256', text, 'base64url').slice(0, 22)}"`);
  context.body = text;
  if (isHeld(context)) context.status = 304;
}

/**
 * Whether `If-None-Match` names the tag of the response. `Cache-Control: no-cache` of a request is for caches,
 * not for us: clients send it along with a tag of their own.
 */
function isHeld(context: Context): boolean {
  const given = context.get('If-None-Match');
  const tags: string[] = given.match(/"[^"]*"/g) ?? [];
  return given.trim() === '*' || tags.includes(String(context.response.get('ETag')).slice('W/'.length));
}
