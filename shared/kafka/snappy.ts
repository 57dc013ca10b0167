import { copyLiterals, copyMatch, createOutput, damaged, type Memory, memoryOf, tooLarge } from './lz77.ts';
import { readUnsignedVarint } from './record-format.ts';

/** The header of the framing that Java clients use for snappy: magic, version 1, compatible with version 1. */
export const header = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
const magic = header.subarray(0, 8);

/** Receives a block: its decompressed size, and the range of its compressed bytes. */
type OnBlock = (bytes: number, start: number, end: number) => void;

/** Decompresses the framed blocks of Java clients, or the single bare block of other clients. */
export function snappyDecompress(content: Buffer, bytesMax: number): Buffer {
  let bytes = 0;
  forEachBlock(content, (blockBytes) => {
    bytes += blockBytes;
    if (bytes > bytesMax) throw tooLarge('snappy', bytesMax);
  });
  const input = memoryOf(content);
  const output = createOutput(bytes);
  let at = 0;
  forEachBlock(content, (blockBytes, start, end) => {
    decode(input, start, end, output, at, at + blockBytes);
    at += blockBytes;
  });
  return output.bytes;
}

function forEachBlock(content: Buffer, onBlock: OnBlock): void {
  if (!startsFrame(content, 0)) {
    readBlock(content, 0, content.length, onBlock);
    return;
  }
  let at = 0;
  while (at < content.length) {
    // A stream of several writes has a header before each write. A block length never equals the magic.
    if (startsFrame(content, at)) {
      at += header.length;
      continue;
    }
    if (at + 4 > content.length) throw damaged('snappy');
    const end = at + 4 + content.readUInt32BE(at);
    if (end > content.length) throw damaged('snappy');
    readBlock(content, at + 4, end, onBlock);
    at = end;
  }
}

const startsFrame = (content: Buffer, start: number) =>
  content.length - start >= magic.length &&
  content.compare(magic, 0, magic.length, start, start + magic.length) === 0;

function readBlock(content: Buffer, start: number, end: number, onBlock: OnBlock): void {
  const cursor = { bytes: content, index: start };
  const bytes = readUnsignedVarint(cursor);
  onBlock(bytes, cursor.index, end);
}

/** The kinds of elements, in the lower two bits of a tag. Kind 3 is a copy whose distance takes four bytes. */
const literals = 0;
const shortCopy = 1;
const mediumCopy = 2;

/** A longer run of literals has its length in the 1 to 4 bytes after the tag. */
const literalsInTagMax = 60;

/** Decodes a block to `from` of the output. Throws if its output does not end at `toEnd`, as its size claims. */
// eslint-disable-next-line complexity -- the elements of the format are one table; calls would slow down its loop
function decode(
  input: Memory,
  start: number,
  end: number,
  output: Memory,
  from: number,
  toEnd: number,
): void {
  const { view } = input;
  let at = start;
  let to = from;
  while (at < end) {
    const tag = view.getUint8(at);
    const kind = tag & 3;
    at += 1;
    if (kind === literals) {
      let length = (tag >> 2) + 1;
      if (length > literalsInTagMax) {
        const lengthBytes = length - literalsInTagMax;
        length = readLittleEndian(view, at, lengthBytes) + 1;
        at += lengthBytes;
      }
      if (at + length > end || to + length > toEnd) throw damaged('snappy');
      copyLiterals(input, at, output, to, length);
      at += length;
      to += length;
      continue;
    }
    let length = (tag >> 2) + 1;
    let distance: number;
    if (kind === shortCopy) {
      length = ((tag >> 2) & 7) + 4;
      distance = ((tag >> 5) << 8) | view.getUint8(at);
      at += 1;
    } else if (kind === mediumCopy) {
      distance = view.getUint16(at, true);
      at += 2;
    } else {
      distance = view.getUint32(at, true);
      at += 4;
    }
    if (distance === 0 || distance > to - from || to + length > toEnd) throw damaged('snappy');
    copyMatch(output, to, distance, length);
    to += length;
  }
  if (at !== end || to !== toEnd) throw damaged('snappy');
}

/** Reads an unsigned integer of one to four bytes. */
function readLittleEndian(view: DataView, at: number, bytes: number): number {
  let value = 0;
  for (let index = 0; index < bytes; index += 1) value += view.getUint8(at + index) * 2 ** (8 * index);
  return value;
}
