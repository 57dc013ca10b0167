import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import kafkajs from 'kafkajs';
import lz4 from 'lz4-napi';
import snappy from 'snappy';
import { batchBytesMax, decompressors } from '../../shared/kafka/codecs.ts';
import { header } from '../../shared/kafka/snappy.ts';

/** Compression functions for the codecs that kafkajs does not include. */
export const compressors = {
  snappy: snappyCompress,
  lz4: (content: Buffer) => lz4.compressFrame(content),
  zstd: (content: Buffer) => promisify<Buffer, Buffer>(zstdCompress)(content),
};

/** Adds these codecs to kafkajs, for the sample producer, and for plain kafkajs consumers in tests. */
export function registerCodecs(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  CompressionCodecs[CompressionTypes.Snappy] = codecOf('snappy');
  CompressionCodecs[CompressionTypes.LZ4] = codecOf('lz4');
  CompressionCodecs[CompressionTypes.ZSTD] = codecOf('zstd');
}

const codecOf = (name: keyof typeof compressors) => () => ({
  compress: (encoder: { buffer: Buffer }) => compressors[name](encoder.buffer),
  decompress: (content: Buffer) => decompressors[name](content, batchBytesMax),
});

/** Java clients compress blocks of this size. */
const blockBytes = 32 * 1024;

/** Compresses into framed blocks, as Java clients do. */
async function snappyCompress(content: Buffer): Promise<Buffer> {
  const chunks: Buffer[] = [header];
  for (let start = 0; start < content.length; start += blockBytes) {
    const block = await snappy.compress(content.subarray(start, start + blockBytes));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(block.length);
    chunks.push(length, block);
  }
  return Buffer.concat(chunks);
}
