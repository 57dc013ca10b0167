import { createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from 'node:zlib';
import { lz4Decompress } from './lz4.ts';
import { tooLarge } from './lz77.ts';
import { snappyDecompress } from './snappy.ts';

/**
 * The largest decompressed size of one batch, in bytes. It is far above the default limit of brokers (1 MiB
 * compressed), and stops a hostile batch before it takes the memory.
 */
export const batchBytesMax = 64 * 1024 * 1024;

/** Rejects bytes of another codec, truncated bytes, and output beyond `bytesMax`, which is never allocated. */
export type Decompress = (content: Buffer, bytesMax: number) => Promise<Buffer>;

/** Reads all codecs of Kafka, by Kafka's names. Node decompresses gzip and zstd in other threads. */
export const decompressors = {
  gzip: gzipMembers,
  snappy: async (content, bytesMax) => snappyDecompress(content, bytesMax),
  lz4: async (content, bytesMax) => lz4Decompress(content, bytesMax),
  zstd: zstdFrames,
} satisfies Record<string, Decompress>;

/**
 * An engine writes its output in pieces of about the expected size. The memory of smaller pieces would come from Node's
 * pool, or stay with malloc once it is given back.
 */
const pieceBytesMin = 256 * 1024;
const pieceBytesMax = 1024 * 1024;
const pieceBytes = (expected: number) => Math.min(Math.max(expected, pieceBytesMin), pieceBytesMax);

type Engine = Gunzip | ZstdDecompress;

/**
 * gzip stores the size of the last member at its end: if it is the only one, the output is one piece, without a copy.
 */
async function gzipMembers(content: Buffer, bytesMax: number): Promise<Buffer> {
  const size = content.length < 4 ? 0 : content.readUInt32LE(content.length - 4);
  return outputOf(createGunzip({ chunkSize: pieceBytes(size) }), 'gzip', content, bytesMax);
}

/** A producer may have written several frames: Node reads them one after another. */
async function zstdFrames(content: Buffer, bytesMax: number): Promise<Buffer> {
  const chunkSize = pieceBytes(8 * content.length);
  return outputOf(createZstdDecompress({ chunkSize }), 'zstd', content, bytesMax);
}

/** The output of an engine for the content. The engine ends at the first piece beyond the limit. */
async function outputOf(engine: Engine, codec: string, content: Buffer, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer<ArrayBuffer>[] = [];
  let bytes = 0;
  engine.end(content);
  for await (const piece of engine as AsyncIterable<Buffer<ArrayBuffer>>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw tooLarge(codec, bytesMax);
    pieces.push(piece);
  }
  return joined(pieces, bytes);
}

/**
 * Joins the pieces of an engine that has ended. Gives the memory of each back once it is copied: otherwise the output
 * would take twice its size until the next garbage collection.
 */
function joined(pieces: Buffer<ArrayBuffer>[], bytes: number): Buffer {
  const [first] = pieces;
  if (first && pieces.length === 1 && first.length === first.buffer.byteLength) return first;
  const output = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    output.set(piece, at);
    at += piece.length;
    // Two pieces may share their memory.
    if (pieces[index + 1]?.buffer !== piece.buffer) piece.buffer.transfer(0);
  }
  return output;
}
