type Source<Item> = AsyncGenerator<Item, void, undefined>;
type MergeStep<Item> = { source: Source<Item>; result: IteratorResult<Item, void> };

/**
 * Yields the items of all sources as they arrive. Runs at most `concurrency` sources together, and each reads at most
 * one item ahead. A caller that stops early must abort the running sources, because `merge` does not wait for them.
 */
export async function* merge<Item>(sources: Source<Item>[], concurrency: number): Source<Item> {
  const waiting = [...sources];
  const working = new Map<Source<Item>, Promise<MergeStep<Item>>>();
  const advance = (source: Source<Item>) => {
    const step = source.next().then((result) => ({ source, result }));
    // Avoids an unhandled rejection while nothing awaits the step. A later await still rejects.
    step.catch(() => undefined);
    working.set(source, step);
  };
  const start = () => {
    const source = waiting.shift();
    if (source) advance(source);
  };
  for (let count = 0; count < concurrency; count += 1) start();
  while (working.size > 0) {
    const { source, result } = await Promise.race(working.values());
    working.delete(source);
    if (result.done) {
      start();
      continue;
    }
    advance(source);
    yield result.value;
  }
}
