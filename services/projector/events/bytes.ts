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
type Json = { value: unknown } | { reason: 'not_json' | 'too_large'; issue: string };

/**
 * JSON beyond these limits is not parsed, because its values would take many times the memory of its bytes: a value of
 * three bytes, such as `{},`, takes some hundred bytes.
 */
export const jsonBytesMax = 16 * 1024 * 1024;
export const jsonValuesMax = 250_000;

/** Parses JSON in UTF-8. A leading byte order mark is ignored, as RFC 8259 allows. */
export function decodeJson(bytes: Uint8Array): Json {
  if (bytes.length > jsonBytesMax || countValues(bytes) > jsonValuesMax) {
    const issue = `must take at most ${jsonBytesMax} bytes, and hold at most ${jsonValuesMax} values`;
    return { reason: 'too_large', issue };
  }
  const text = decodeText(bytes);
  if (text === null) return { reason: 'not_json', issue: 'must be UTF-8' };
  try {
    return { value: JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text) };
  } catch {
    return { reason: 'not_json', issue: bytes.length === 0 ? 'must not be empty' : 'must be JSON' };
  }
}

const [quote, backslash, ...beforeValue] = Buffer.from('"\\,[{');

/** Counts the commas and opening brackets outside of strings, because each value follows one of them. */
function countValues(bytes: Uint8Array): number {
  // So few bytes have fewer values than the limit.
  if (bytes.length <= jsonValuesMax) return 0;
  let count = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) isText = !isText;
    else if (isText && byte === backslash) at += 1;
    else if (!isText && beforeValue.includes(byte)) count += 1;
  }
  return count;
}

const otherThanBase64 = /[^A-Za-z0-9+/]/;

/**
 * Decodes base64. Returns null for other text, whereas Node's decoder would skip unknown characters. No regular
 * expression matches the whole text: V8 keeps a state for each repetition, and throws above some four million of them.
 */
export function decodeBase64(text: string): Buffer | null {
  if (text.length % 4 !== 0) return null;
  const end = text.search(otherThanBase64);
  const padding = end < 0 ? '' : text.slice(end, end + 3);
  const isPadded = padding === '' || padding === '=' || padding === '==';
  const isAtEnd = end < 0 || end + padding.length === text.length;
  return isPadded && isAtEnd ? Buffer.from(text, 'base64') : null;
}
