import { setTimeout as sleep } from 'node:timers/promises';
import { progressOf } from '../../shared/control/progress.ts';
import { doubled, randomHistory } from '../convergence/history.ts';
import type { Event } from '../support/events.ts';
import { publish, type TestEnvironment } from '../support/test-environment.ts';

export type LiveTraffic = {
  /** Everything that was published, in the order of each key. */
  published: Event[];
  pause: () => Promise<void>;
  resume: () => void;
  stop: () => Promise<void>;
};

/** The records that the generations have yet to apply, as the projectors last recorded. */
async function lagOf({ control }: TestEnvironment): Promise<number> {
  const progress = await progressOf(control).find().toArray();
  return progress.reduce((sum, { applied: { position }, end }) => sum + Math.max(0, end - position), 0);
}

/** Above this lag, in records, only a trickle is published: a slow machine must be able to catch up. */
const lagMax = 200;

/**
 * Publishes random histories one after another, a few events at a time and each after `change`, until it is stopped.
 */
export function startLiveTraffic(
  environment: TestEnvironment,
  firstSeed: number,
  change = (event: Event): Event => event,
): LiveTraffic {
  const published: Event[] = [];
  let isStopped = false;
  let isPaused = false;
  let sending: Promise<void> = Promise.resolve();
  const run = async () => {
    for (let seed = firstSeed; !isStopped; seed += 1) {
      const history = randomHistory(seed, 400, { population: doubled, organizations: 5, retentionDays: [0] });
      while (history.length > 0 && !isStopped) {
        const isLagging = (await lagOf(environment)) > lagMax;
        await sleep(isLagging ? 250 : 50);
        if (isPaused) continue;
        const changes = history.splice(0, isLagging ? 2 : 10).map(change);
        sending = publish(environment, changes);
        await sending;
        published.push(...changes);
      }
    }
  };
  const running = run();
  return {
    published,
    pause: async () => {
      isPaused = true;
      await sending;
    },
    resume: () => {
      isPaused = false;
    },
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
}
