import {
  createReferenceCache,
  type ReferenceCache,
} from '../../services/projector/materialize/reference-cache.ts';
import { createRandom, type Random } from '../support/random.ts';

/** Ends the next step of a crashed worker: nothing of the worker continues. */
export class Crash extends Error {
  override name = 'Crash';
}

/** The store did not answer: it may have executed the step or not. */
export class NoReply extends Error {
  override name = 'NoReply';
}

/** One worker on one partition, from its start to its end or crash. `ending` is aborted when it loses the partition. */
export type Lane = {
  name: string;
  isDead: boolean;
  ending: AbortController;
  cache: ReferenceCache;
  /** The applied position of a partition, as far as the worker knows. */
  positions: (partition: string) => number;
};

/** A reference cache that is too small for all entities. */
const cacheBytes = 2_000;

export const createLane = (name: string, positions: Lane['positions']): Lane => ({
  ...{ name, isDead: false, positions },
  ending: new AbortController(),
  cache: createReferenceCache(cacheBytes),
});

type Waiting = { lane: Lane; label: string; go: () => void; fail: (error: Error) => void };

export type Schedule = {
  random: Random;
  /** The steps in order. */
  trace: string[];
  /** Waits until the schedule executes this step of the worker; rejects if the schedule fails it. */
  pause: (lane: Lane, label: string) => Promise<void>;
  crash: (lane: Lane) => void;
  /** Executes step by step until none waits. `disturb` may act between two steps. */
  drive: (disturb: (lane: Lane) => void) => Promise<void>;
};

/** More steps than any schedule needs: a history that takes more never converges. */
const stepsMax = 20_000;

/** The share of steps that fail without a reply, crash their worker, or lose their partition. */
const disturbance = 0.03;

/**
 * A seeded schedule: it picks one of the waiting steps, and nothing else runs until that step's next wait. Half of the
 * seeds pick evenly. The others pick by priorities that sometimes change, so that a worker falls far behind, like a
 * stopped process.
 */
export function createSchedule(seed: number): Schedule {
  const random = createRandom(seed);
  const waiting: Waiting[] = [];
  const trace: string[] = [];
  const priorities = new Map<Lane, number>();
  const byPriority = seed % 2 === 0;
  let disturbancesLeft = random.int(6);

  const priority = (lane: Lane) => {
    const known = priorities.get(lane) ?? random.int(1_000);
    priorities.set(lane, known);
    return known;
  };
  const pick = (): number => {
    if (!byPriority) return random.int(waiting.length);
    if (random.chance(0.02)) priorities.set(random.pick(waiting).lane, random.int(1_000));
    const ranks = waiting.map(({ lane }) => priority(lane));
    const highest = Math.max(...ranks);
    const best = [...ranks.keys()].filter((index) => ranks[index] === highest);
    return random.pick(best);
  };
  const pause = (lane: Lane, label: string) =>
    new Promise<void>((go, fail) => {
      if (lane.isDead) fail(new Crash());
      else waiting.push({ lane, label, go, fail });
    });
  const crash = (lane: Lane) => {
    lane.isDead = true;
    for (const item of waiting.filter((one) => one.lane === lane)) item.fail(new Crash());
    waiting.splice(0, waiting.length, ...waiting.filter((one) => one.lane !== lane));
  };
  const drive = async (disturb: (lane: Lane) => void) => {
    for (;;) {
      await quiet();
      if (waiting.length === 0) return;
      const index = pick();
      const [item] = waiting.slice(index, index + 1);
      if (!item) continue;
      if (disturbancesLeft > 0 && random.chance(disturbance)) {
        disturbancesLeft -= 1;
        if (random.chance(0.3) && !item.label.startsWith('commit')) {
          trace.push(`${item.lane.name}: no reply to ${item.label}`);
          waiting.splice(index, 1);
          item.fail(new NoReply());
        } else disturb(item.lane);
        continue;
      }
      trace.push(`${item.lane.name}: ${item.label}`);
      if (trace.length > stepsMax)
        throw new Error(`does not converge: no end after ${stepsMax} steps\n${trace.slice(-40).join('\n')}`);
      waiting.splice(index, 1);
      item.go();
    }
  };
  return { random, trace, pause, crash, drive };
}

/** Resolves when every promise that can continue has done so. */
const quiet = () => new Promise<void>((resolve) => setImmediate(resolve));
