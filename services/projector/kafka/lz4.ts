import lz4 from 'lz4-napi';

const frameMagic = 0x184d2204;
/** Flags of a frame's header, by the LZ4 frame format 1.6. */
const flags = { dictionaryId: 0x01, contentChecksum: 0x04, contentSize: 0x08, blockChecksum: 0x10 };

/** Compresses into one LZ4 frame. */
export const lz4Compress = (content: Buffer): Promise<Buffer> => lz4.compressFrame(content);

/**
 * Decompresses one LZ4 frame or several, one after the other; by itself the library passes over what follows
 * the first. LZ4 gives 255 bytes for one at most, so that the size of what the broker takes bounds the output
 * before `bytesMax` is checked.
 */
export async function lz4Decompress(content: Buffer, bytesMax: number): Promise<Buffer> {
  const outputs: Buffer[] = [];
  let left = bytesMax;
  let at = 0;
  do {
    const end = frameEnd(content, at);
    const output = await lz4.decompressFrame(content.subarray(at, end));
    left -= output.length;
    if (left < 0) throw new RangeError(`larger than ${bytesMax} bytes`);
    outputs.push(output);
    at = end;
  } while (at < content.length);
  return outputs.length === 1 && outputs[0] ? outputs[0] : Buffer.concat(outputs);
}

/** Where the frame that starts at `start` ends; throws where it is none or is cut short. */
function frameEnd(content: Buffer, start: number): number {
  if (content.readUInt32LE(start) !== frameMagic) throw new Error('not an LZ4 frame');
  const given = content.readUInt8(start + 4);
  const bytesIf = (flag: number, bytes: number) => (given & flag ? bytes : 0);
  let at = start + 7 + bytesIf(flags.contentSize, 8) + bytesIf(flags.dictionaryId, 4);
  for (;;) {
    const blockBytes = content.readUInt32LE(at) & 0x7fff_ffff;
    at += 4;
    if (blockBytes === 0) break;
    at += blockBytes + bytesIf(flags.blockChecksum, 4);
  }
  at += bytesIf(flags.contentChecksum, 4);
  if (at > content.length) throw new RangeError('unexpected end of file');
  return at;
}
