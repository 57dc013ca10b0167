import { idle } from '../support/idle.ts';
import { createRandom, type Random } from '../support/random.ts';

/** Thrown at the next step of a crashed worker, so that it does nothing more. */
class Crash extends Error {
  override name = 'Crash';
}

/** The store did not reply: the worker does not know whether the store has done the step. */
export class NoReply extends Error {
  override name = 'NoReply';
}

/** The outcome of the work; null if the store did not reply. */
export const replied = async <T>(work: () => Promise<T>): Promise<T | null> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NoReply) return null;
    throw error;
  }
};

/** Repeats the work until the store replies. */
export const retried = async (work: () => Promise<unknown>): Promise<void> => {
  while ((await replied(() => work().then(() => true))) === null);
};

/**
 * One worker on one partition, from its assignment to its end or crash. `ending` is aborted if it learns of a
 * revocation.
 */
export type Worker = {
  name: string;
  isDead: boolean;
  ending: AbortController;
  /** The offset up to which the worker knows that a partition is applied. */
  positions: (partition: string) => number;
};

export const createWorker = (name: string, positions: Worker['positions']): Worker => ({
  name,
  isDead: false,
  positions,
  ending: new AbortController(),
});

type Waiting = { worker: Worker; label: string; go: () => void; fail: (error: Error) => void };

export type Schedule = {
  random: Random;
  trace: string[];
  /** Waits until the schedule picks this step of the worker; rejects if the schedule lets it fail. */
  pause: (worker: Worker, label: string) => Promise<void>;
  crash: (worker: Worker) => void;
  /** Runs one step after another until no step waits. `disturb` may crash or revoke a worker between two steps. */
  drive: (disturb: (worker: Worker) => void) => Promise<void>;
};

/** More steps than any schedule needs. A history that takes more never ends. */
const stepsMax = 20_000;

/** The share of the steps at which the store does not reply, or the worker crashes or loses its partition. */
const disturbedShare = 0.03;

/**
 * A seeded schedule. It picks one of the waiting steps, and picks the next when nothing else moves. Odd seeds pick
 * evenly. Even seeds pick by priorities that change now and then, which gives a worker a long lag, as a stopped process
 * would have.
 */
export function createSchedule(seed: number): Schedule {
  const random = createRandom(seed);
  const waiting: Waiting[] = [];
  const trace: string[] = [];
  const priorities = new Map<Worker, number>();
  const byPriority = seed % 2 === 0;
  let disturbancesLeft = random.int(6);

  const priority = (worker: Worker) => {
    const known = priorities.get(worker) ?? random.int(1_000);
    priorities.set(worker, known);
    return known;
  };
  const pick = (): number => {
    if (!byPriority) return random.int(waiting.length);
    if (random.chance(0.02)) priorities.set(random.pick(waiting).worker, random.int(1_000));
    const ranks = waiting.map(({ worker }) => priority(worker));
    const highest = Math.max(...ranks);
    const best = [...ranks.keys()].filter((index) => ranks[index] === highest);
    return random.pick(best);
  };
  const pause = (worker: Worker, label: string) =>
    new Promise<void>((go, fail) => {
      if (worker.isDead) fail(new Crash());
      else waiting.push({ worker, label, go, fail });
    });
  const crash = (worker: Worker) => {
    worker.isDead = true;
    for (const item of waiting.filter((step) => step.worker === worker)) item.fail(new Crash());
    waiting.splice(0, waiting.length, ...waiting.filter((step) => step.worker !== worker));
  };
  const drive = async (disturb: (worker: Worker) => void) => {
    for (;;) {
      await idle();
      if (waiting.length === 0) return;
      const index = pick();
      const [item] = waiting.slice(index, index + 1);
      if (!item) continue;
      if (disturbancesLeft > 0 && random.chance(disturbedShare)) {
        disturbancesLeft -= 1;
        if (random.chance(0.3) && !item.label.startsWith('commit')) {
          trace.push(`${item.worker.name}: no reply to ${item.label}`);
          waiting.splice(index, 1);
          item.fail(new NoReply());
        } else disturb(item.worker);
        continue;
      }
      trace.push(`${item.worker.name}: ${item.label}`);
      if (trace.length > stepsMax)
        throw new Error(`does not converge: no end after ${stepsMax} steps\n${trace.slice(-40).join('\n')}`);
      waiting.splice(index, 1);
      item.go();
    }
  };
  return { random, trace, pause, crash, drive };
}
