import lz4 from 'lz4-napi';

const frameMagic = 0x184d2204;
/** The flags in a frame's header (LZ4 frame format 1.6). */
const flags = { dictionaryId: 0x01, contentChecksum: 0x04, contentSize: 0x08, blockChecksum: 0x10 };

/**
 * Decompresses one or more LZ4 frames; the library alone would ignore every frame after the first. LZ4 expands a byte to
 * at most 255, so the broker's limit for a batch bounds the output before `bytesMax` is checked.
 */
export async function lz4Decompress(content: Buffer, bytesMax: number): Promise<Buffer> {
  const outputs: Buffer[] = [];
  let bytesLeft = bytesMax;
  let start = 0;
  do {
    const end = frameEnd(content, start);
    const output = await lz4.decompressFrame(content.subarray(start, end));
    bytesLeft -= output.length;
    if (bytesLeft < 0) throw new RangeError(`larger than ${bytesMax} bytes`);
    outputs.push(output);
    start = end;
  } while (start < content.length);
  return outputs.length === 1 && outputs[0] ? outputs[0] : Buffer.concat(outputs);
}

/** The end of the frame that starts at `start`. Throws if there is no frame or it is truncated. */
function frameEnd(content: Buffer, start: number): number {
  if (content.readUInt32LE(start) !== frameMagic) throw new Error('not an LZ4 frame');
  const header = content.readUInt8(start + 4);
  const bytesIf = (flag: number, bytes: number) => (header & flag ? bytes : 0);
  let end = start + 7 + bytesIf(flags.contentSize, 8) + bytesIf(flags.dictionaryId, 4);
  for (;;) {
    const blockBytes = content.readUInt32LE(end) & 0x7fff_ffff;
    end += 4;
    if (blockBytes === 0) break;
    end += blockBytes + bytesIf(flags.blockChecksum, 4);
  }
  end += bytesIf(flags.contentChecksum, 4);
  if (end > content.length) throw new RangeError('unexpected end of file');
  return end;
}
