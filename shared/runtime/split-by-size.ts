/** Splits items, in their order, into chunks of at most `sizeMax` in total. A larger item is a chunk of its own. */
export function* splitBySize<T>(items: T[], sizeOf: (item: T) => number, sizeMax: number): Generator<T[]> {
  let chunk: T[] = [];
  let size = 0;
  for (const item of items) {
    const itemSize = sizeOf(item);
    if (chunk.length > 0 && size + itemSize > sizeMax) {
      yield chunk;
      chunk = [];
      size = 0;
    }
    chunk.push(item);
    size += itemSize;
  }
  if (chunk.length > 0) yield chunk;
}
