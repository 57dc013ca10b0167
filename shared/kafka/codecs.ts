import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';
import lz4 from 'lz4-napi';
import { snappyDecompress } from './snappy.ts';

/**
 * The largest decompressed size of one batch, in bytes. It is far above the default limit of brokers (1 MiB compressed),
 * and stops a hostile batch before it takes the memory: some codecs hold the output twice for a moment.
 */
export const batchBytesMax = 64 * 1024 * 1024;

/** Rejects bytes of another codec, truncated bytes, and output beyond `bytesMax`. */
export type Decompress = (content: Buffer, bytesMax: number) => Promise<Buffer>;

/** Reads all codecs of Kafka, by Kafka's names. */
export const decompressors = {
  gzip: (content, bytesMax) =>
    promisify(gunzip)(content, { maxOutputLength: bytesMax, chunkSize: gzipChunkSize(content) }),
  snappy: snappyDecompress,
  lz4: lz4Frame,
  zstd: zstdFrames,
} satisfies Record<string, Decompress>;

/** LZ4 expands a byte to at most 255: the broker's limit for a batch bounds the output before `bytesMax` is checked. */
async function lz4Frame(content: Buffer, bytesMax: number): Promise<Buffer> {
  const output = await lz4.decompressFrame(content);
  if (output.length > bytesMax) throw new RangeError(`larger than ${bytesMax} bytes`);
  return output;
}

const gzipChunkSizeMax = 1024 * 1024;

/**
 * Returns the size of the decompressed content, which gzip stores at its end, so that Node writes the output in one piece
 * without copies. A wrong size costs only time. Node requires at least 64 bytes.
 */
const gzipChunkSize = (content: Buffer): number => {
  const size = content.length < 4 ? 0 : content.readUInt32LE(content.length - 4);
  return Math.min(Math.max(size, 64), gzipChunkSizeMax);
};

/** Node stops after the first frame of a zstd stream, but a producer may have written several. */
async function zstdFrames(content: Buffer, bytesMax: number): Promise<Buffer> {
  const outputs: Buffer[] = [];
  let remaining = content;
  let bytesLeft = bytesMax;
  do {
    const frame = await zstdFrame(remaining, bytesLeft);
    outputs.push(frame.buffer);
    bytesLeft -= frame.buffer.length;
    remaining = remaining.subarray(frame.engine.bytesWritten);
  } while (remaining.length > 0);
  return outputs.length === 1 && outputs[0] ? outputs[0] : Buffer.concat(outputs);
}

/** `info` makes Node return the engine too, which knows how much of the input it has consumed. */
const zstdFrame = promisify(
  (content: Buffer, bytesMax: number, done: (error: Error | null, frame: ZstdFrame) => void) =>
    zstdDecompress(content, { maxOutputLength: bytesMax, info: true }, (error, frame) =>
      done(error, frame as unknown as ZstdFrame),
    ),
);
type ZstdFrame = { buffer: Buffer; engine: { bytesWritten: number } };
