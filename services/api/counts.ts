export type Counts<Key> = ReturnType<typeof createCounts<Key>>;

/** A number for each key, such as its requests or bytes in progress. A key without any takes no memory. */
export function createCounts<Key>() {
  const counts = new Map<Key, number>();
  const count = (key: Key): number => counts.get(key) ?? 0;
  const add = (key: Key, more: number): void => {
    const now = count(key) + more;
    if (now === 0) counts.delete(key);
    else counts.set(key, now);
  };
  return {
    count,
    add,
    entries: () => [...counts],
    /** Counts one more. The returned function ends it, and is called once. */
    begin: (key: Key) => {
      add(key, 1);
      return () => add(key, -1);
    },
  };
}
