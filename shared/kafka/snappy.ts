import snappy from 'snappy';
import { readVarint } from './record-format.ts';

/** The header of the framing that Java clients use for snappy: magic, version 1, compatible with version 1. */
export const header = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
const magic = header.subarray(0, 8);

/** Decompresses the framed blocks of Java clients, or the single bare block of other clients. */
export async function snappyDecompress(content: Buffer, bytesMax: number): Promise<Buffer> {
  const blocks = startsFrame(content, 0) ? framedBlocks(content) : [content];
  const bytes = blocks.reduce((sum, block) => sum + uncompressedLength(block), 0);
  if (bytes > bytesMax) throw new RangeError(`larger than ${bytesMax} bytes`);
  const output = await Promise.all(blocks.map((block) => snappy.uncompress(block, { asBuffer: true })));
  return Buffer.concat(output as Buffer[]);
}

const startsFrame = (content: Buffer, start: number) =>
  magic.equals(content.subarray(start, start + magic.length));

/** A stream of several writes has a header before each write. A block length never equals the magic. */
function framedBlocks(content: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  let start = 0;
  while (start < content.length) {
    if (startsFrame(content, start)) {
      start += header.length;
      continue;
    }
    if (start + 4 > content.length) throw new Error('unexpected end of file');
    const end = start + 4 + content.readUInt32BE(start);
    if (end > content.length) throw new Error('unexpected end of file');
    blocks.push(content.subarray(start + 4, end));
    start = end;
  }
  return blocks;
}

/** A block starts with its decompressed length, an unsigned varint. `readVarint` takes the lowest bit for the sign. */
function uncompressedLength(block: Buffer): number {
  const half = readVarint({ bytes: block, at: 0 });
  return half < 0 ? -2 * half - 1 : 2 * half;
}
