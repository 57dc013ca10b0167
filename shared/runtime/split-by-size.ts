/** Splits items, in their order, into runs of at most so much; a larger one is a run of its own. */
export function* splitBySize<T>(items: T[], sizeOf: (item: T) => number, sizeMax: number): Generator<T[]> {
  let portion: T[] = [];
  let size = 0;
  for (const item of items) {
    if (portion.length > 0 && size + sizeOf(item) > sizeMax) {
      yield portion;
      portion = [];
      size = 0;
    }
    portion.push(item);
    size += sizeOf(item);
  }
  if (portion.length > 0) yield portion;
}
