import type { Event } from '../support/events.ts';
import { type Failure, simulate } from './simulate.ts';

type Shrunk = { history: Event[]; seed: number; failure: Failure };

/** Schedules tried on a shorter history before it counts as passing. */
const schedulesTried = 60;

/** Leaves out one record after another, as long as some schedule of the remaining records still fails. */
export async function shrink(start: Shrunk): Promise<Shrunk> {
  let smallest = start;
  for (let index = smallest.history.length - 1; index >= 0; index -= 1) {
    const history = smallest.history.filter((_, position) => position !== index);
    const failing = await firstFailure(history, [smallest.seed, ...seedsFrom(smallest.seed)]);
    if (failing) smallest = failing;
  }
  return smallest;
}

const seedsFrom = (seed: number) => Array.from({ length: schedulesTried }, (_, index) => seed + 1 + index);

async function firstFailure(history: Event[], seeds: number[]): Promise<Shrunk | null> {
  for (const seed of seeds) {
    const failure = await simulate(history, seed);
    if (failure) return { history, seed, failure };
  }
  return null;
}
