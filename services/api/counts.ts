export type Counts<Key> = ReturnType<typeof createCounts<Key>>;

/** Counts the requests or connections of each key that are in progress. A key without any takes no memory. */
export function createCounts<Key>() {
  const counts = new Map<Key, number>();
  const count = (key: Key): number => counts.get(key) ?? 0;
  return {
    count,
    entries: () => [...counts],
    /** Counts one more. The returned function ends it. */
    begin: (key: Key) => {
      counts.set(key, count(key) + 1);
      return () => {
        if (count(key) > 1) counts.set(key, count(key) - 1);
        else counts.delete(key);
      };
    },
  };
}
