import type { Kind } from '../../../shared/documents/document.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { decodeText } from '../../projector/events/bytes.ts';
import { redactText } from './redact.ts';
import { displayOf } from './field-display.ts';
import { idSchema } from '../../projector/events/topics.ts';

type RedactedHeader = { name: string; value: string };

const sizeOf = (bytes: Uint8Array) => `<${counted(bytes.length, 'byte')}>`;

/** A dead letter's key for display to an operator: the id that it should be, or else its size. */
export function redactKey(kind: Kind | null, key: Buffer | null): string {
  if (key === null) return 'null';
  const text = decodeText(key);
  const isId = text !== null && kind !== null && idSchema(kind).safeParse(text).success;
  return isId && redactText(text, 'id') === text ? text : sizeOf(key);
}

/**
 * A dead letter's headers for display to an operator. The media type and the CloudEvents attributes follow the rules of
 * the fields of the same names. Any other value, and any unusual name, is shown as its size only.
 */
export const redactHeaders = (headers: { name: string; value: Buffer | null }[]): RedactedHeader[] =>
  headers.map(({ name, value }) => ({
    name: /^[A-Za-z0-9_-]{1,40}$/.test(name) ? name : sizeOf(Buffer.from(name)),
    value: value ? redactHeader(name.toLowerCase(), value) : 'null',
  }));

function redactHeader(name: string, value: Buffer): string {
  const text = decodeText(value);
  if (text === null) return sizeOf(value);
  if (name === 'content-type') return mediaType.test(text) ? text : sizeOf(value);
  if (name === 'ce_entityversion') return /^\d{1,16}$/.test(text) ? text : sizeOf(value);
  const display = name.startsWith('ce_') ? displayOf(name.slice('ce_'.length)) : null;
  return display && display !== 'secret' && redactText(text, display) === text ? text : sizeOf(value);
}

const mediaType = /^\s*[a-z]{1,20}\/[a-z0-9.+-]{1,60}\s*(?:;\s*charset="?[a-z0-9-]{1,20}"?\s*)?$/i;
