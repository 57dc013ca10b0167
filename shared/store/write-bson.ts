import { createRequire } from 'node:module';

type Options = { checkKeys?: boolean; ignoreUndefined?: boolean };
type Serialize = (document: object, options?: Options) => Uint8Array;

const require = createRequire(import.meta.url);
const bson = createRequire(require.resolve('mongodb'))('bson') as { serialize: Serialize };

/** Space for one document or command. The published function writes larger ones. */
const space = Buffer.allocUnsafeSlow(256 * 1024);
/** No document of the services is as deep. The published function finds circles. */
const depthMax = 100;
/** Longer texts are written by Node, in a call that costs as much as this many characters. */
const shortLength = 25;
/** More than an element takes besides its name and its text, with the ends of the documents around it. */
const elementBytesMax = 32 + depthMax;

/**
 * Lets the driver write documents of plain values by functions that call themselves. As published (bson 7.3), it makes
 * an object for each nested document, a list of its names, and a set to find circles: a tenth of the garbage of a
 * backlog. The bytes are the same.
 */
export function patchSerialize(): void {
  const { serialize } = bson;
  if (serialize.name === 'writeOrSerialize') return;
  bson.serialize = function writeOrSerialize(document, options = {}) {
    const isOther = options.checkKeys === true || Array.isArray(document) || !isPlain(document);
    const end = isOther ? -1 : writeElements({ serialize, options }, document, 0, 0);
    if (end < 0) return serialize(document, options);
    const bytes = Buffer.allocUnsafe(end);
    space.copy(bytes, 0, 0, end);
    return bytes;
  };
}

/** What an element is written with that is no plain value. */
type Published = { serialize: Serialize; options: Options };

/** Writes a document or a list at a place, and returns its end; -1 if the published function has to write the whole. */
function writeElements(published: Published, values: object, start: number, depth: number): number {
  if (depth > depthMax) return -1;
  let at = start + 4;
  if (Array.isArray(values))
    for (let index = 0; index < values.length && at >= 0; index += 1)
      at = writeElement(published, String(index), values[index] ?? null, at, depth);
  else
    for (const name in values) {
      const value = (values as Record<string, unknown>)[name];
      if (value === undefined && published.options.ignoreUndefined !== false) continue;
      at = writeElement(published, name, value ?? null, at, depth);
      if (at < 0) break;
    }
  if (at < 0) return -1;
  space[at] = 0;
  space.writeInt32LE(at + 1 - start, start);
  return at + 1;
}

function writeElement(
  published: Published,
  name: string,
  value: unknown,
  start: number,
  depth: number,
): number {
  if (start + 3 * name.length + elementBytesMax > space.length) return -1;
  const at = writeName(name, start + 1);
  if (at < 0) return -1;
  if (value === null) {
    space[start] = 0x0a;
    return at;
  }
  if (typeof value === 'string') {
    space[start] = 0x02;
    return writeText(value, at);
  }
  if (typeof value === 'boolean') {
    space[start] = 0x08;
    space[at] = value ? 1 : 0;
    return at + 1;
  }
  if (typeof value === 'number') {
    const isInt32 = (value | 0) === value && !Object.is(value, -0);
    space[start] = isInt32 ? 0x10 : 0x01;
    return isInt32 ? space.writeInt32LE(value, at) : space.writeDoubleLE(value, at);
  }
  if (value instanceof Date && !Number.isNaN(value.getTime())) {
    space[start] = 0x09;
    return writeInt64(value.getTime(), at);
  }
  if (typeof value === 'object' && isPlain(value)) {
    space[start] = Array.isArray(value) ? 0x04 : 0x03;
    return writeElements(published, value, at, depth + 1);
  }
  return writePublished(published, name, value, start);
}

/** Whether it is a list, or an object whose fields are all that it has. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype && !('_bsontype' in value) && !('toBSON' in value);
}

/** Writes an element of any other type. */
function writePublished(
  { serialize, options }: Published,
  name: string,
  value: unknown,
  start: number,
): number {
  const document = serialize({ [name]: value }, options);
  const element = document.subarray(4, -1);
  if (start + element.length + elementBytesMax > space.length) return -1;
  space.set(element, start);
  return start + element.length;
}

/** Writes a name with its end. Names of other characters are rare. */
function writeName(name: string, start: number): number {
  let at = start;
  for (let index = 0; index < name.length; index += 1) {
    const code = name.charCodeAt(index);
    if (code === 0 || code > 127) return -1;
    space[at++] = code;
  }
  space[at] = 0;
  return at + 1;
}

function writeText(text: string, start: number): number {
  if (start + 3 * text.length + elementBytesMax > space.length) return -1;
  const from = start + 4;
  let at = text.length > shortLength ? -1 : writeName(text, from) - 1;
  if (at < from) {
    at = from + space.write(text, from);
    space[at] = 0;
  }
  space.writeInt32LE(at + 1 - from, start);
  return at + 1;
}

/** Writes a whole number of 64 bits, two halves of 32. */
function writeInt64(value: number, start: number): number {
  space.writeInt32LE(value | 0, start);
  return space.writeInt32LE(Math.floor(value / 2 ** 32), start + 4);
}
