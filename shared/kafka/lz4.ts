import { copyLiterals, copyMatch, createOutput, damaged, type Memory, memoryOf, tooLarge } from './lz77.ts';

const magic = 0x184d2204;

/** The fields of a frame's header that decide how its blocks are read. */
type Frame = {
  input: Memory;
  /** The place of the first block. */
  start: number;
  /** The most bytes of one block, decompressed. */
  blockBytesMax: number;
  /** The number of bytes of the checksum after each block; 0 without checksums. */
  checksumBytes: number;
  /** The size of the output that the frame claims; null without a claim. */
  contentBytes: number | null;
};

/** The place of a block in the input. A stored block is not compressed. */
type OnBlock = (start: number, end: number, isStored: boolean) => void;

/**
 * Decompresses an LZ4 frame. Reads only the first frame and refuses the legacy format, as a broker does. Ignores the
 * checksums of LZ4, because brokers verify the checksum of the batch.
 */
export function lz4Decompress(content: Buffer, bytesMax: number): Buffer {
  const frame = readHeader(content);
  let bytes = 0;
  forEachBlock(frame, (start, end, isStored) => {
    const blockBytes = isStored ? end - start : outputBytes(frame.input, start, end);
    if (blockBytes > frame.blockBytesMax) throw damaged('lz4');
    bytes += blockBytes;
    if (bytes > bytesMax) throw tooLarge('lz4', bytesMax);
  });
  if (frame.contentBytes !== null && frame.contentBytes !== bytes) throw damaged('lz4');
  const output = createOutput(bytes);
  let at = 0;
  forEachBlock(frame, (start, end, isStored) => {
    at += isStored ? content.copy(output.bytes, at, start, end) : decode(frame.input, start, end, output, at);
  });
  return output.bytes;
}

function readHeader(content: Buffer): Frame {
  if (content.length < 7 || content.readUInt32LE(0) !== magic) throw damaged('lz4');
  const flags = content.readUInt8(4);
  const hasContentBytes = (flags & 0x08) !== 0;
  const hasDictionary = (flags & 0x01) !== 0;
  const size = (content.readUInt8(5) >> 4) & 7;
  if (flags >> 6 !== 1 || hasDictionary || size < 4) throw damaged('lz4');
  return {
    input: memoryOf(content),
    start: hasContentBytes ? 15 : 7,
    blockBytesMax: 2 ** (8 + 2 * size),
    checksumBytes: flags & 0x10 ? 4 : 0,
    contentBytes: hasContentBytes ? Number(content.readBigUInt64LE(6)) : null,
  };
}

/** Calls `onBlock` for each block, up to the mark of the frame's end. */
function forEachBlock({ input, start, checksumBytes }: Frame, onBlock: OnBlock): void {
  const { bytes, view } = input;
  let at = start;
  for (let size = view.getUint32(at, true); size !== 0; size = view.getUint32(at, true)) {
    const end = at + 4 + (size & 0x7fffffff);
    if (end > bytes.length) throw damaged('lz4');
    onBlock(at + 4, end, size >>> 31 === 1);
    at = end + checksumBytes;
  }
}

/** Returns the decompressed size of a block: the sum of its lengths. Throws if the last one does not end the block. */
function outputBytes({ view }: Memory, start: number, end: number): number {
  let at = start;
  let bytes = 0;
  while (at < end) {
    const token = view.getUint8(at);
    at += 1;
    let literals = token >> 4;
    if (literals === 15) {
      let byte = 255;
      while (byte === 255) {
        byte = view.getUint8(at);
        literals += byte;
        at += 1;
      }
    }
    at += literals;
    bytes += literals;
    // The last sequence of a block has no match.
    if (at === end) return bytes;
    at += 2;
    let match = token & 15;
    if (match === 15) {
      let byte = 255;
      while (byte === 255) {
        byte = view.getUint8(at);
        match += byte;
        at += 1;
      }
    }
    bytes += match + 4;
  }
  throw damaged('lz4');
}

/** Decodes a block to `from` of the output. `outputBytes` has checked its lengths. Returns the number of bytes. */
function decode(input: Memory, start: number, end: number, output: Memory, from: number): number {
  const { view } = input;
  let at = start;
  let to = from;
  for (;;) {
    const token = view.getUint8(at);
    at += 1;
    let literals = token >> 4;
    if (literals === 15) {
      let byte = 255;
      while (byte === 255) {
        byte = view.getUint8(at);
        literals += byte;
        at += 1;
      }
    }
    if (literals > 0) copyLiterals(input, at, output, to, literals);
    at += literals;
    to += literals;
    if (at === end) return to - from;
    const distance = view.getUint16(at, true);
    at += 2;
    let match = token & 15;
    if (match === 15) {
      let byte = 255;
      while (byte === 255) {
        byte = view.getUint8(at);
        match += byte;
        at += 1;
      }
    }
    if (distance === 0 || distance > to) throw damaged('lz4');
    copyMatch(output, to, distance, match + 4);
    to += match + 4;
  }
}
