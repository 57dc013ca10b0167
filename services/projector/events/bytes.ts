const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes UTF-8. Returns null for other bytes, never a text with replacement characters. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** A JSON value, or the rule that the bytes break. The rule never quotes the bytes. */
type Json = { value: unknown } | { issue: string };

/** Parses JSON in UTF-8. A leading byte order mark is ignored, as RFC 8259 allows. */
export function decodeJson(bytes: Uint8Array): Json {
  const text = decodeText(bytes);
  if (text === null) return { issue: 'must be UTF-8' };
  try {
    return { value: JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text) };
  } catch {
    return { issue: bytes.length === 0 ? 'must not be empty' : 'must be JSON' };
  }
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Decodes base64. Returns null for other text, whereas Node's decoder would skip unknown characters. */
export const decodeBase64 = (text: string): Buffer | null =>
  base64.test(text) ? Buffer.from(text, 'base64') : null;
