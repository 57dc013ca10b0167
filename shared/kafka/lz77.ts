/*
 * LZ4 and snappy both consist of literal bytes, and of references to earlier bytes of the output. Their decoders
 * compute the size of the output first, so they allocate only one buffer of that size.
 */

/** Bytes, with a view of them that reads and writes eight at a time. A read or write outside of them throws. */
export type Memory = { bytes: Buffer; view: DataView };

export const memoryOf = (bytes: Buffer): Memory => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
});

/**
 * Allocates an output without zeros and outside Node's pool, so that a false size takes no memory before it is used.
 */
export const createOutput = (bytes: number): Memory => memoryOf(Buffer.allocUnsafeSlow(bytes));

/** The error of a batch that exceeds the limit, thrown before the output is allocated. */
export const tooLarge = (codec: string, bytesMax: number) =>
  new RangeError(`its ${codec} content takes more than ${bytesMax} bytes decompressed`);

export const damaged = (codec: string) => new RangeError(`its ${codec} content is damaged`);

/** A short run is copied as 16 or 32 bytes. Later runs overwrite the bytes after its end. */
const shortRunBytes = 32;

/** Copies `length` bytes from `start` of the input to `at` of the output. Both must be long enough. */
export function copyLiterals(input: Memory, start: number, output: Memory, at: number, length: number): void {
  const isNearEnd = start + shortRunBytes > input.bytes.length || at + shortRunBytes > output.bytes.length;
  if (length > shortRunBytes || isNearEnd) {
    output.bytes.set(input.bytes.subarray(start, start + length), at);
    return;
  }
  output.view.setBigInt64(at, input.view.getBigInt64(start));
  output.view.setBigInt64(at + 8, input.view.getBigInt64(start + 8));
  if (length <= 16) return;
  output.view.setBigInt64(at + 16, input.view.getBigInt64(start + 16));
  output.view.setBigInt64(at + 24, input.view.getBigInt64(start + 24));
}

/**
 * Copies `length` bytes of the output to `at`, from `distance` bytes before. The output must be long enough. If the two
 * ranges overlap, the copy repeats bytes that it has just written.
 */
export function copyMatch({ bytes, view }: Memory, at: number, distance: number, length: number): void {
  const end = at + length;
  let to = at;
  if (distance >= 8) {
    const wordsEnd = Math.min(end, bytes.length - 7);
    for (; to < wordsEnd; to += 8) view.setBigInt64(to, view.getBigInt64(to - distance));
  }
  for (; to < end; to += 1) view.setUint8(to, view.getUint8(to - distance));
}
