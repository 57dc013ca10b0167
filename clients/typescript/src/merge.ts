type Source<Item> = AsyncGenerator<Item, void, undefined>;
type Step<Item> = { source: Source<Item>; result: IteratorResult<Item, void> };

/**
 * What any of the sources yields, as it comes, with at most `concurrency` of them at work and one item of each
 * waiting to be taken. When it is left early it does not wait for those at work: the caller aborts them.
 */
export async function* merge<Item>(sources: Source<Item>[], concurrency: number): Source<Item> {
  const waiting = [...sources];
  const working = new Map<Source<Item>, Promise<Step<Item>>>();
  const advance = (source: Source<Item>) => {
    const step = source.next().then((result) => ({ source, result }));
    // It may fail while nobody waits for it; whoever comes to it is still told.
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
