import snappy from 'snappy';

/** The header of the framing that Java clients put around snappy: magic, version 1, compatible with 1. */
const header = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
const magic = header.subarray(0, 8);
const blockBytes = 32 * 1024;

/** Compresses as Java clients do, in framed blocks. */
export async function snappyCompress(content: Buffer): Promise<Buffer> {
  const parts: Buffer[] = [header];
  for (let at = 0; at < content.length; at += blockBytes) {
    const block = await snappy.compress(content.subarray(at, at + blockBytes));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

/** Decompresses the framed blocks of Java clients, or the one bare block that others write. */
export async function snappyDecompress(content: Buffer, bytesMax: number): Promise<Buffer> {
  const blocks = startsFrame(content, 0) ? framedBlocks(content) : [content];
  const bytes = blocks.reduce((sum, block) => sum + uncompressedLength(block), 0);
  if (bytes > bytesMax) throw new RangeError(`larger than ${bytesMax} bytes`);
  const output = await Promise.all(blocks.map((block) => snappy.uncompress(block, { asBuffer: true })));
  return Buffer.concat(output as Buffer[]);
}

const startsFrame = (content: Buffer, at: number) => magic.equals(content.subarray(at, at + magic.length));

/** A stream that was written in several goes has a header before each; lengths never look like its magic. */
function framedBlocks(content: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  let at = 0;
  while (at < content.length) {
    if (startsFrame(content, at)) {
      at += header.length;
      continue;
    }
    if (at + 4 > content.length) throw new Error('unexpected end of file');
    const end = at + 4 + content.readUInt32BE(at);
    if (end > content.length) throw new Error('unexpected end of file');
    blocks.push(content.subarray(at + 4, end));
    at = end;
  }
  return blocks;
}

/** A block starts with its length when decompressed, as a varint of at most five bytes. */
function uncompressedLength(block: Buffer): number {
  let length = 0;
  for (let index = 0; index < 5; index++) {
    const byte = block[index];
    if (byte === undefined) throw new Error('unexpected end of file');
    length += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return length;
  }
  throw new Error('a block starts with its length');
}
