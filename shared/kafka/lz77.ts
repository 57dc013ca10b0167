/*
 * LZ4 and snappy both write runs of literal bytes, and copies of bytes that the output already holds. Their decoders
 * compute the size of the output first. So one output of that size is all that they allocate.
 */

/** Bytes, with a view of them that reads and writes eight at a time. A read or write outside of them throws. */
export type Memory = { bytes: Buffer; view: DataView };

export const memoryOf = (bytes: Buffer): Memory => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
});

/** Not zeroed, and not from Node's pool, so that a claimed size takes no memory before it is written. */
export const createOutput = (bytes: number): Memory => memoryOf(Buffer.allocUnsafeSlow(bytes));

/** Thrown for a batch that takes more than the limit, before its output is allocated. */
export const tooLarge = (codec: string, bytesMax: number) =>
  new RangeError(`its ${codec} content takes more than ${bytesMax} bytes decompressed`);

export const damaged = (codec: string) => new RangeError(`its ${codec} content is damaged`);

/** A short run is copied as 16 or 32 bytes. Later runs overwrite the bytes after its end. */
const shortRunBytes = 32;

/** Copies `length` bytes from `start` of the input to `at` of the output. Both hold as many. */
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
 * Repeats `length` bytes, from `distance` before `at` of the output on. The output holds as many. They may overlap:
 * then the copy repeats bytes that it has written itself.
 */
export function copyMatch({ bytes, view }: Memory, at: number, distance: number, length: number): void {
  const end = at + length;
  let to = at;
  if (distance >= 8)
    for (const last = Math.min(end, bytes.length - 7); to < last; to += 8)
      view.setBigInt64(to, view.getBigInt64(to - distance));
  for (; to < end; to += 1) view.setUint8(to, view.getUint8(to - distance));
}
