import {
  createReferenceCache,
  type ReferenceCache,
} from '../../services/projector/materialize/reference-cache.ts';
import { createRandom, type Random } from '../support/random.ts';

/** What a crashed worker meets at its next step: nothing of it goes on. */
export class Crash extends Error {
  override name = 'Crash';
}

/** A store that did not answer: the step may have been done or not. */
export class NoReply extends Error {
  override name = 'NoReply';
}

/** One worker on one partition, from its start to its end or crash. `ending` tells it that it lost the partition. */
export type Lane = {
  name: string;
  isDead: boolean;
  ending: AbortController;
  cache: ReferenceCache;
  /** How far the lane knows a partition to be applied. */
  positions: (partition: string) => number;
};

/** So small a memory of entities that some are forgotten. */
const cacheBytes = 2_000;

export const createLane = (name: string, positions: Lane['positions']): Lane => ({
  ...{ name, isDead: false, positions },
  ending: new AbortController(),
  cache: createReferenceCache(cacheBytes),
});

type Waiting = { lane: Lane; label: string; go: () => void; fail: (error: Error) => void };

export type Schedule = {
  random: Random;
  /** What happened, step by step. */
  trace: string[];
  /** Waits until the schedule lets this step of the lane go on; rejects where the schedule has it fail. */
  pause: (lane: Lane, label: string) => Promise<void>;
  crash: (lane: Lane) => void;
  /** Lets one step after another go on until nothing waits; `disturb` may do something else between two. */
  drive: (disturb: (lane: Lane) => void) => Promise<void>;
};

/** More steps than any schedule needs: a history that takes them goes on for ever. */
const stepsMax = 20_000;

/** Share of the steps that fail without a reply, or crash their worker, or lose their partition. */
const disturbance = 0.03;

/**
 * A seeded schedule: of all steps that could go on it picks one, and nothing else moves until that has come
 * to its next wait. Half of the seeds pick evenly; the others by priorities that change now and then, which
 * leaves a worker far behind, as a process that was stopped would be.
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

/** Resolves when every promise that could go on has. */
const quiet = () => new Promise<void>((resolve) => setImmediate(resolve));
