import { parseInstant } from '../../../shared/documents/instant.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { decodeJson } from '../../projector/events/bytes.ts';
import { displayOf, type Display } from './field-display.ts';

/** Limits of the displayed text. No valid entity is deeper, and few have longer lists. */
const depthMax = 16;
const elementsMax = 50;

/**
 * A dead letter's value for display to an operator, as indented JSON. Attributes, ids, enumerated words, numbers,
 * booleans and timestamps stay. Every other text is replaced by its length, and a secret altogether; fields that the
 * contract does not name are only counted. Not for parsing.
 */
export function redactRecord(value: Buffer | null): string {
  if (value === null) return 'null';
  const json = decodeJson(value);
  if ('issue' in json) return `<${counted(value.length, 'byte')}, not JSON>`;
  return JSON.stringify(redact(json.value, 'text', 0), null, 2);
}

function redact(value: unknown, display: Display, depth: number): unknown {
  if (display === 'secret') return '[redacted]';
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return redactText(value, display);
  if (typeof value !== 'object') return display === 'text' ? '[redacted number]' : value;
  if (depth >= depthMax) return '[too deep]';
  if (!Array.isArray(value)) return redactObject(value, depth);
  const elements = value.slice(0, elementsMax).map((element) => redact(element, display, depth + 1));
  return value.length > elementsMax ? [...elements, `[${value.length - elementsMax} more]`] : elements;
}

function redactObject(value: object, depth: number): Record<string, unknown> {
  const kept = new Map<string, unknown>();
  let others = 0;
  for (const [name, field] of Object.entries(value)) {
    const display = displayOf(name);
    if (display) kept.set(name, redact(field, display, depth + 1));
    else others++;
  }
  if (others > 0) kept.set('[other fields]', others);
  return Object.fromEntries(kept);
}

/** An event type has dots, which no enumerated word has. */
const shapes: { [D in Display]?: RegExp } = {
  id: /^[A-Za-z0-9_-]{1,64}$/,
  word: /^[a-z][a-z_]{0,31}$|^support\.[A-Za-z]{1,32}\.[a-z]{1,32}\.v\d{1,3}$/,
  attribute: /^[A-Za-z0-9._:/+-]{1,200}$/,
  color: /^#[0-9a-fA-F]{6}$/,
};

/** A text for display to an operator, if the form of its field allows it; else its length. */
export function redactText(value: string, display: Display): string {
  if (parseInstant(value) || shapes[display]?.test(value)) return value;
  return `[redacted ${counted(value.length, 'char')}]`;
}
