import { hash } from 'node:crypto';
import type { Context } from './context.ts';

/**
 * The version of a content. It is made of the content alone: it is the same whatever `Data-As-Of` or the
 * compression is, and weak, as compressed bytes are not compared.
 */
export const tagOf = (content: Buffer): string => `W/"${hash('sha256', content, 'base64url').slice(0, 22)}"`;

/** Answers with a text, or with 304 when the client has it already. It is encoded once, for tag and body. */
export function sendText(context: Context, text: string): void {
  const content = Buffer.from(text);
  if (isHeld(context, tagOf(content))) return;
  context.type = 'application/json';
  context.body = content;
}

/**
 * Sets the tag of the response, and answers with 304 where `If-None-Match` names it. `Cache-Control: no-cache`
 * of a request is for caches, not for us: clients send it along with a tag of their own.
 */
export function isHeld(context: Context, tag: string): boolean {
  context.set('ETag', tag);
  const given = context.get('If-None-Match');
  const tags: string[] = given.match(/"[^"]*"/g) ?? [];
  const held = given.trim() === '*' || tags.includes(tag.slice('W/'.length));
  if (held) context.status = 304;
  return held;
}
