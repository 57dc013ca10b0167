import { promisify } from 'node:util';
import { gunzip, gzip, zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs from 'kafkajs';
import { lz4Compress, lz4Decompress } from './lz4.ts';
import { snappyCompress, snappyDecompress } from './snappy.ts';

/**
 * The most that one batch may grow to, in bytes: far beyond what a broker takes by default (1 MiB
 * compressed), and an error that says so before a hostile batch takes the memory.
 */
export const batchBytesMax = 256 * 1024 * 1024;

export type Codec = {
  compress: (content: Buffer) => Promise<Buffer>;
  /** Rejects on bytes that are not of this codec or are cut short, and beyond `bytesMax`. */
  decompress: (content: Buffer, bytesMax: number) => Promise<Buffer>;
};

/** Every codec that Kafka has, by its name there. */
export const codecs = {
  gzip: {
    compress: (content) => promisify<Buffer, Buffer>(gzip)(content),
    decompress: (content, bytesMax) => promisify(gunzip)(content, { maxOutputLength: bytesMax }),
  },
  snappy: { compress: snappyCompress, decompress: snappyDecompress },
  lz4: { compress: lz4Compress, decompress: lz4Decompress },
  zstd: { compress: (content) => promisify<Buffer, Buffer>(zstdCompress)(content), decompress: zstdFrames },
} satisfies Record<string, Codec>;

/**
 * Gives kafkajs the codecs that it lacks (snappy, lz4, zstd), and its own gzip the same bound. To be called
 * once, before the first client: a batch of a codec that kafkajs does not know ends its consumer.
 */
export function registerCodecs(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  CompressionCodecs[CompressionTypes.GZIP] = codecOf('gzip');
  CompressionCodecs[CompressionTypes.Snappy] = codecOf('snappy');
  CompressionCodecs[CompressionTypes.LZ4] = codecOf('lz4');
  CompressionCodecs[CompressionTypes.ZSTD] = codecOf('zstd');
}

const codecOf = (name: keyof typeof codecs) => () => ({
  compress: (encoder: { buffer: Buffer }) => codecs[name].compress(encoder.buffer),
  decompress: async (content: Buffer) => {
    try {
      return await codecs[name].decompress(content, batchBytesMax);
    } catch (error) {
      throw new Error(`A ${name} batch of ${content.length} bytes cannot be decompressed: ${String(error)}`, {
        cause: error,
      });
    }
  },
});

/** Node stops behind the first frame of a zstd stream; a producer may have written several. */
async function zstdFrames(content: Buffer, bytesMax: number): Promise<Buffer> {
  const outputs: Buffer[] = [];
  let rest = content;
  let left = bytesMax;
  do {
    const frame = await zstdFrame(rest, left);
    outputs.push(frame.buffer);
    left -= frame.buffer.length;
    rest = rest.subarray(frame.engine.bytesWritten);
  } while (rest.length > 0);
  return outputs.length === 1 && outputs[0] ? outputs[0] : Buffer.concat(outputs);
}

/** `info` asks Node for the engine too, which knows how much of the input it has taken. */
const zstdFrame = promisify(
  (content: Buffer, bytesMax: number, done: (error: Error | null, frame: ZstdFrame) => void) =>
    zstdDecompress(content, { maxOutputLength: bytesMax, info: true }, (error, frame) =>
      done(error, frame as unknown as ZstdFrame),
    ),
);
type ZstdFrame = { buffer: Buffer; engine: { bytesWritten: number } };
