/** A random source that a seed determines completely. */
export type Random = {
  /** At least 0, below 1. */
  unit: () => number;
  /** A whole number from 0 to `below` - 1. */
  int: (below: number) => number;
  /** A whole number from `min` to `max`, both inclusive. */
  between: (min: number, max: number) => number;
  chance: (probability: number) => boolean;
  /** One of the choices. Throws if the list is empty. */
  pick: <T>(choices: readonly T[]) => T;
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
  const int = (below: number) => Math.floor(unit() * below);
  return {
    unit,
    int,
    between: (min, max) => min + int(max - min + 1),
    chance: (probability) => unit() < probability,
    pick: <T>(choices: readonly T[]) => {
      if (choices.length === 0) throw new RangeError('nothing to pick from');
      return choices[int(choices.length)] as T;
    },
    id: (prefix) => prefix + Array.from({ length: 20 }, () => alphabet[int(alphabet.length)]).join(''),
  };
}

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';
