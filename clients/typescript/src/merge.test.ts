import { merge } from './merge.ts';

/** Yields numbered items. Adds each to `seen` when work on it begins. */
async function* source(name: string, count: number, seen: string[]): AsyncGenerator<string, void, undefined> {
  for (let item = 1; item <= count; item += 1) {
    seen.push(`${name}${item}`);
    await Promise.resolve();
    yield `${name}${item}`;
  }
}

test('a merge runs at most the allowed number of sources, and each reads one item ahead', async () => {
  const seen: string[] = [];
  const merged = merge(
    ['a', 'b', 'c'].map((name) => source(name, 5, seen)),
    2,
  );
  await merged.next();
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toEqual(['a1', 'b1', 'a2']);
});

test('a failing source ends a merge, and a second failure causes no unhandled rejection', async () => {
  async function* failing(): AsyncGenerator<string, void, undefined> {
    await Promise.resolve();
    throw new Error('broken');
  }
  await expect(Array.fromAsync(merge([failing(), failing()], 2))).rejects.toThrow('broken');
  await new Promise((resolve) => setImmediate(resolve));
});
