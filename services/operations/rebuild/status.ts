import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerationRegistry } from '../../../shared/control/generations.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import type { OperatorDeps } from './deps.ts';
import { measureAll, type Measured, type PartitionProgress, type TopicProgress } from './measure.ts';

/** The rate at which a lag changes. `secondsLeft` is null while the lag does not fall. */
type Rate = { recordsPerSecond: number; secondsLeft: number | null };
export type RatedTopic = TopicProgress & Rate;
export type RatedPartition = PartitionProgress & Rate;
export type Rated = Omit<Measured, 'topics' | 'partitions'> & {
  topics: RatedTopic[];
  partitions: RatedPartition[];
};
export type RebuildStatus = { active: number; generations: Rated[] };

const intervalMs = 2_000;

/** Measures every generation once, for a rate by `withRates`. */
export async function measureNow(
  deps: OperatorDeps,
): Promise<{ registry: GenerationRegistry; generations: Measured[] }> {
  const registry = await requireRegistry(deps.control);
  return { registry, generations: await measureAll(deps, registry) };
}

/** Yields the status of every generation, every two seconds. A rate needs two measurements, so the first takes two seconds. */
export async function* watchStatus(deps: OperatorDeps): AsyncGenerator<RebuildStatus, never> {
  for (let before = await measureNow(deps); ;) {
    await sleep(intervalMs);
    const present = await measureNow(deps);
    yield {
      active: present.registry.generation,
      generations: withRates(before.generations, present.generations, intervalMs / 1_000),
    };
    before = present;
  }
}

/** Adds the rates between two measurements. */
export const withRates = (before: Measured[], present: Measured[], seconds: number): Rated[] =>
  present.map((one) => {
    const earlier = before.find(({ number }) => number === one.number);
    const rated = <T extends TopicProgress>(then: T | undefined, progress: T) => ({
      ...progress,
      ...rate(then ?? progress, progress, seconds),
    });
    return {
      ...one,
      topics: one.topics.map((topic) =>
        rated(
          earlier?.topics.find((each) => each.topic === topic.topic),
          topic,
        ),
      ),
      partitions: one.partitions.map((partition) =>
        rated(
          earlier?.partitions.find(
            (each) => each.topic === partition.topic && each.partition === partition.partition,
          ),
          partition,
        ),
      ),
    };
  });

function rate(then: TopicProgress, present: TopicProgress, seconds: number): Rate {
  const { lag } = present;
  const fallsBy = then.lag === null || lag === null ? 0 : (then.lag - lag) / seconds;
  return {
    recordsPerSecond: Math.max(0, (present.position - then.position) / seconds),
    secondsLeft: lag === 0 ? 0 : lag !== null && fallsBy > 0 ? Math.ceil(lag / fallsBy) : null,
  };
}
