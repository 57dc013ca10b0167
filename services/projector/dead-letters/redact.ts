import { parseInstant } from '../../../shared/documents/instant.ts';
import { decodeJson } from '../events/bytes.ts';
import { shownAs, type Shown } from './shown-fields.ts';

/** Deeper values and longer arrays than any entity's are cut, so that a display stays one. */
const depthMax = 16;
const elementsMax = 50;

/**
 * A dead letter's raw value for an operator's eyes, as indented JSON: what places the record (attributes, ids,
 * enumerated words, numbers, booleans, timestamps) is kept, every other text is replaced by its length, a
 * secret altogether, and fields that the contract does not name are only counted. Not for parsing.
 */
export function redactRecord(value: Buffer | null): string {
  if (value === null) return 'null';
  const json = decodeJson(value);
  if ('issue' in json) return `<${value.length} bytes, not JSON>`;
  return JSON.stringify(redact(json.value, 'text', 0), null, 2);
}

function redact(value: unknown, shown: Shown, depth: number): unknown {
  if (shown === 'secret') return '[redacted]';
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return redactText(value, shown);
  if (typeof value !== 'object') return shown === 'text' ? '[redacted number]' : value;
  if (depth >= depthMax) return '[too deep]';
  if (!Array.isArray(value)) return redactObject(value, depth);
  const elements = value.slice(0, elementsMax).map((element) => redact(element, shown, depth + 1));
  return value.length > elementsMax ? [...elements, `[${value.length - elementsMax} more]`] : elements;
}

function redactObject(value: object, depth: number): Record<string, unknown> {
  const kept = new Map<string, unknown>();
  let others = 0;
  for (const [name, field] of Object.entries(value)) {
    const shown = shownAs(name);
    if (shown) kept.set(name, redact(field, shown, depth + 1));
    else others++;
  }
  if (others > 0) kept.set('[other fields]', others);
  return Object.fromEntries(kept);
}

/** Event types are told apart from enumerated words by their dots alone, which no word has. */
const shapes: { [S in Shown]?: RegExp } = {
  id: /^[A-Za-z0-9_-]{1,64}$/,
  word: /^[a-z][a-z_]{0,31}$|^support\.[A-Za-z]{1,32}\.[a-z]{1,32}\.v\d{1,3}$/,
  attribute: /^[A-Za-z0-9._:/+-]{1,200}$/,
  color: /^#[0-9a-fA-F]{6}$/,
};

/** A text for an operator's eyes, by how its field may be shown. */
export function redactText(value: string, shown: Shown): string {
  if (parseInstant(value) || shapes[shown]?.test(value)) return value;
  return `[redacted ${value.length} chars]`;
}
