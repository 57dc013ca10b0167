import { createRandom as createSampleRandom } from '../../infra/sample-data/random.ts';

/** A seeded generator: the same seed makes the same history again. */
export type Random = {
  /** A whole number from 0 to `below` - 1. */
  int: (below: number) => number;
  chance: (probability: number) => boolean;
  pick: <T>(items: readonly T[]) => T;
};

/** The sample data's generator, with the half-open range that tests count by. */
export function createRandom(seed: number): Random {
  const { unit, chance, pick } = createSampleRandom(seed);
  return { int: (below) => Math.floor(unit() * below), chance, pick };
}
