import { setTimeout as sleep } from 'node:timers/promises';
import { requireRegistry } from '../../projector/generations/registry.ts';
import type { OperatorDeps } from './deps.ts';
import { measureAll, type Measured, type TopicProgress } from './measure.ts';

/** A topic's progress with its rate. `secondsLeft` is null while the lag does not fall. */
export type RatedTopic = TopicProgress & { recordsPerSecond: number; secondsLeft: number | null };
export type Rated = Omit<Measured, 'topics'> & { topics: RatedTopic[] };
type RebuildStatus = { active: number; generations: Rated[] };

const intervalMs = 2_000;

/** Yields the status of every generation, every two seconds. A rate needs two measurements, so the first takes two seconds. */
export async function* watchStatus(deps: OperatorDeps): AsyncGenerator<RebuildStatus, never> {
  const measureNow = async () => {
    const registry = await requireRegistry(deps.control);
    return { active: registry.generation, generations: await measureAll(deps, registry) };
  };
  for (let before = await measureNow(); ;) {
    await sleep(intervalMs);
    const present = await measureNow();
    yield {
      active: present.active,
      generations: withRates(before.generations, present.generations, intervalMs / 1_000),
    };
    before = present;
  }
}

/** Adds the rates between two measurements. */
const withRates = (before: Measured[], present: Measured[], seconds: number): Rated[] =>
  present.map((one) => {
    const earlier = before.find(({ number }) => number === one.number)?.topics ?? [];
    const topics = one.topics.map((topic) => {
      const then = earlier.find((each) => each.topic === topic.topic) ?? topic;
      const recordsPerSecond = Math.max(0, (topic.position - then.position) / seconds);
      const lag = topic.lag ?? Infinity;
      const fallsBy = ((then.lag ?? Infinity) - lag) / seconds;
      const secondsLeft = lag === 0 ? 0 : fallsBy > 0 ? Math.ceil(lag / fallsBy) : null;
      return { ...topic, recordsPerSecond, secondsLeft };
    });
    return { ...one, topics };
  });
