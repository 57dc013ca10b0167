import { Binary } from 'mongodb';

/** Packs offsets into one bit each. The lowest bit of the first byte is the offset `from`. */
export function packOffsets(offsets: Iterable<number>, from: number): Binary {
  const bits: number[] = [];
  for (const offset of offsets) {
    const index = offset - from;
    const byte = Math.floor(index / 8);
    while (bits.length <= byte) bits.push(0);
    bits[byte] = (bits[byte] ?? 0) | (1 << (index % 8));
  }
  return new Binary(Uint8Array.from(bits));
}

/** The offsets that were packed, in their order. */
export function unpackOffsets(packed: Binary, from: number): Set<number> {
  const offsets = new Set<number>();
  for (const [byte, bits] of packed.value().entries())
    for (let bit = 0; bit < 8; bit += 1) if (bits & (1 << bit)) offsets.add(from + byte * 8 + bit);
  return offsets;
}

/** Describes offsets in their order as ranges, at most `rangesMax` of them: `3, 5-7 and 12 more`. */
export function describeOffsets(offsets: number[], rangesMax = 20): string {
  const ranges: { first: number; last: number }[] = [];
  for (const offset of offsets) {
    const range = ranges.at(-1);
    if (range && range.last + 1 === offset) range.last = offset;
    else ranges.push({ first: offset, last: offset });
  }
  const shown = ranges.slice(0, rangesMax);
  const texts = shown.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`));
  const left = offsets.length - shown.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  return left > 0 ? `${texts.join(', ')} and ${left} more` : texts.join(', ');
}
