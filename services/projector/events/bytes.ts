const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text that the bytes are in UTF-8; null where they are not UTF-8, never a text with replacements. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** A JSON value, or why the bytes are none. The reason never quotes them. */
export type Json = { value: unknown } | { fault: string };

/** Reads JSON in UTF-8; a byte order mark in front is passed over, as RFC 8259 allows. */
export function decodeJson(bytes: Uint8Array): Json {
  const text = decodeText(bytes);
  if (text === null) return { fault: 'must be UTF-8' };
  try {
    return { value: JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text) };
  } catch {
    return { fault: bytes.length === 0 ? 'must not be empty' : 'must be JSON' };
  }
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The bytes of a base64 text; null where it is none, where Node's decoder would skip what it does not know. */
export const decodeBase64 = (text: string): Buffer | null =>
  base64.test(text) ? Buffer.from(text, 'base64') : null;
