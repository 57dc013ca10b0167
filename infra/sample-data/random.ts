/** A random source that a seed determines completely. */
export type Random = {
  /** At least 0, below 1. */
  unit: () => number;
  /** A whole number from `min` to `max`, both inclusive. */
  int: (min: number, max: number) => number;
  chance: (probability: number) => boolean;
  /** One of the choices. Throws if the list is empty. */
  pick: <T>(choices: readonly T[]) => T;
  /** Up to `count` different choices, in the order of the list. */
  some: <T>(choices: readonly T[], count: number) => T[];
  /** `prefix` and 20 letters and digits. */
  id: (prefix: string) => string;
};

/** Mulberry32: small and fast, sufficient for sample data, not for real secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const unit = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (min: number, max: number) => min + Math.floor(unit() * (max - min + 1));
  return {
    unit,
    int,
    chance: (probability) => unit() < probability,
    pick: (choices) => pickFrom(choices, int),
    some: (choices, count) => {
      const chosen = new Set<number>();
      for (let tries = 0; tries < count && choices.length > 0; tries++)
        chosen.add(int(0, choices.length - 1));
      return choices.filter((_, index) => chosen.has(index));
    },
    id: (prefix) => prefix + characters(int, 20),
  };
}

function pickFrom<T>(choices: readonly T[], int: Random['int']): T {
  if (choices.length === 0) throw new RangeError('nothing to pick from');
  return choices[int(0, choices.length - 1)] as T;
}

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

const characters = (int: Random['int'], count: number) =>
  Array.from({ length: count }, () => alphabet[int(0, alphabet.length - 1)]).join('');
