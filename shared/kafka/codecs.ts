import { createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from 'node:zlib';
import { lz4Decompress } from './lz4.ts';
import { tooLarge } from './lz77.ts';
import { snappyDecompress } from './snappy.ts';

/**
 * The largest decompressed size of one batch, in bytes. The default limit of brokers is far lower (1 MiB compressed).
 * This limit stops a hostile batch before it fills the memory.
 */
export const batchBytesMax = 64 * 1024 * 1024;

/** Rejects bytes of another codec, truncated bytes, and output beyond `bytesMax`, which is never allocated. */
export type Decompress = (content: Buffer, bytesMax: number) => Promise<Buffer>;

/** Reads all codecs of Kafka, by Kafka's names. Node decompresses gzip and zstd in other threads. */
export const decompressors = {
  gzip: decompressGzip,
  snappy: async (content, bytesMax) => snappyDecompress(content, bytesMax),
  lz4: async (content, bytesMax) => lz4Decompress(content, bytesMax),
  zstd: decompressZstd,
} satisfies Record<string, Decompress>;

/**
 * The bounds of the pieces in which zlib writes its output. The memory of smaller pieces would come from Node's pool,
 * or malloc would keep it after its release.
 */
const pieceBytesMin = 256 * 1024;
const pieceBytesMax = 1024 * 1024;
const pieceBytes = (expected: number) => Math.min(Math.max(expected, pieceBytesMin), pieceBytesMax);

type ZlibStream = Gunzip | ZstdDecompress;

/** gzip stores the size of its last member at the end. Of a single member, the output is then one piece, not copied. */
async function decompressGzip(content: Buffer, bytesMax: number): Promise<Buffer> {
  const size = content.length < 4 ? 0 : content.readUInt32LE(content.length - 4);
  return readOutput(createGunzip({ chunkSize: pieceBytes(size) }), 'gzip', content, bytesMax);
}

/** A producer may have written several frames. Node reads them one after another. */
async function decompressZstd(content: Buffer, bytesMax: number): Promise<Buffer> {
  const chunkSize = pieceBytes(8 * content.length);
  return readOutput(createZstdDecompress({ chunkSize }), 'zstd', content, bytesMax);
}

/**
 * Writes the content to a stream of zlib, and reads its output. Ends the stream at the first piece beyond the limit.
 */
async function readOutput(
  stream: ZlibStream,
  codec: string,
  content: Buffer,
  bytesMax: number,
): Promise<Buffer> {
  const pieces: Buffer<ArrayBuffer>[] = [];
  let bytes = 0;
  stream.end(content);
  for await (const piece of stream as AsyncIterable<Buffer<ArrayBuffer>>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw tooLarge(codec, bytesMax);
    pieces.push(piece);
  }
  return joinPieces(pieces, bytes);
}

/**
 * Joins the pieces of an output. Releases the memory of each piece once it is copied. Otherwise the output would take
 * twice its size until the next garbage collection.
 */
function joinPieces(pieces: Buffer<ArrayBuffer>[], bytes: number): Buffer {
  const [first] = pieces;
  if (first && pieces.length === 1 && first.length === first.buffer.byteLength) return first;
  const output = Buffer.allocUnsafeSlow(bytes);
  let offset = 0;
  for (const [index, piece] of pieces.entries()) {
    output.set(piece, offset);
    offset += piece.length;
    // Two pieces may share their memory.
    if (pieces[index + 1]?.buffer !== piece.buffer) piece.buffer.transfer(0);
  }
  return output;
}
