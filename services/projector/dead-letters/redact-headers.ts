import type { Kind } from '../../../shared/documents/document.ts';
import { decodeText } from '../events/bytes.ts';
import { redactText } from './redact.ts';
import { shownAs } from './shown-fields.ts';
import { idOf } from '../events/topics.ts';

export type ShownHeader = { name: string; value: string };

const measured = (bytes: Uint8Array) => `<${bytes.length} bytes>`;

/** A dead letter's key for an operator's eyes: the id that it should be, or else its length. */
export function redactKey(kind: Kind | null, key: Buffer | null): string {
  if (key === null) return 'null';
  const text = decodeText(key);
  const isId = text !== null && kind !== null && idOf(kind).safeParse(text).success;
  return isId && redactText(text, 'id') === text ? text : measured(key);
}

/**
 * A dead letter's headers for an operator's eyes: the media type and the attributes of CloudEvents as the
 * fields of those names, every other value by its length, and so a name that is not like one of a header.
 */
export const redactHeaders = (headers: { name: string; value: Buffer | null }[]): ShownHeader[] =>
  headers.map(({ name, value }) => ({
    name: /^[A-Za-z0-9_-]{1,40}$/.test(name) ? name : measured(Buffer.from(name)),
    value: value ? redactHeader(name.toLowerCase(), value) : 'null',
  }));

function redactHeader(name: string, value: Buffer): string {
  const text = decodeText(value);
  if (text === null) return measured(value);
  if (name === 'content-type') return mediaType.test(text) ? text : measured(value);
  if (name === 'ce_entityversion') return /^\d{1,16}$/.test(text) ? text : measured(value);
  const shown = name.startsWith('ce_') ? shownAs(name.slice('ce_'.length)) : null;
  return shown && shown !== 'secret' && redactText(text, shown) === text ? text : measured(value);
}

const mediaType = /^\s*[a-z]{1,20}\/[a-z0-9.+-]{1,60}\s*(?:;\s*charset="?[a-z0-9-]{1,20}"?\s*)?$/i;
