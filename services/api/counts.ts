/** A number for each key, such as its requests in progress. A key whose number is 0 takes no memory. */
export type Counts<Key> = {
  /** The number of a key; 0 if nothing was counted for the key. */
  count: (key: Key) => number;
  /** Adds to the number of a key; a negative number subtracts. */
  add: (key: Key, more: number) => void;
  /** Every key with its number. */
  entries: () => [Key, number][];
  /** Adds one. The caller calls the returned function once, which subtracts it again. */
  begin: (key: Key) => () => void;
};

export function createCounts<Key>(): Counts<Key> {
  const counts = new Map<Key, number>();
  const count = (key: Key): number => counts.get(key) ?? 0;
  const add = (key: Key, more: number): void => {
    const sum = count(key) + more;
    if (sum === 0) counts.delete(key);
    else counts.set(key, sum);
  };
  return {
    count,
    add,
    entries: () => [...counts],
    begin: (key) => {
      add(key, 1);
      return () => add(key, -1);
    },
  };
}
