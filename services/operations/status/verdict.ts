import type { Rated, RatedPartition } from '../rebuild/status.ts';
import type { Status } from './status.ts';
import { boundedCount } from './texts.ts';

/** Whether customers get current data, in one sentence, and everything that an operator should attend to. */
export type Verdict = {
  /** `lagging`: customers get old data, or none. `attention`: the data is current. */
  state: 'well' | 'attention' | 'lagging';
  sentence: string;
  findings: string[];
};

/** From this lag on, in seconds, a partition is named as the one that holds `Data-As-Of` back. */
const heldBackSeconds = 10;

/** Judges the active generation. `liveReplicas` is the number of API replicas that have announced themselves lately. */
export function judge(
  generations: Rated[],
  { deadLetters, warnings }: Pick<Status, 'deadLetters' | 'warnings'>,
  liveReplicas: number,
): Verdict {
  const active = generations.find(({ state }) => state === 'active');
  if (!active) return { state: 'lagging', sentence: 'No generation is active.', findings: [] };
  const problems = [
    ...(active.stopped ? [`generation ${active.number} is stopped: ${active.stopped.reason}`] : []),
    ...(liveReplicas === 0 ? ['no API replica is live'] : []),
  ];
  const lag =
    active.lagSeconds === null
      ? 'Not well: some partitions have not been applied yet, so there is no Data-As-Of.'
      : active.condition === 'lagging' || active.stopped
        ? `Not well: Data-As-Of lags by ${Math.round(active.lagSeconds)} s.`
        : null;
  const attention = [
    ...active.waitsFor,
    ...(deadLetters > 0 ? [`dead letters: ${boundedCount(deadLetters)}`] : []),
    ...generations
      .filter(({ condition, state }) => state !== 'active' && ['failing', 'stopped'].includes(condition))
      .map(
        ({ number, condition, stopped }) =>
          `generation ${number} is ${condition}${stopped ? `: ${stopped.reason}` : ''}`,
      ),
    ...warnings,
  ];
  const findings = [...problems, ...attention];
  if (lag) return { state: 'lagging', sentence: lag, findings };
  if (problems.length > 0)
    return { state: 'lagging', sentence: `Not well: ${problems[0]}.`, findings: findings.slice(1) };
  if (attention.length === 0) return { state: 'well', sentence: 'All is well.', findings };
  const count = attention.length === 1 ? 'one finding needs' : `${attention.length} findings need`;
  return { state: 'attention', sentence: `The data is current, but ${count} attention.`, findings };
}

/** The partitions that lag, those with the longest lag first; null counts as the longest. */
export const laggingPartitions = ({ partitions }: Pick<Rated, 'partitions'>): RatedPartition[] =>
  partitions
    .filter(({ lag, lagSeconds }) => lag !== 0 || (lagSeconds ?? Infinity) > heldBackSeconds)
    .toSorted(
      (a, b) =>
        (b.lagSeconds ?? Infinity) - (a.lagSeconds ?? Infinity) || (b.lag ?? Infinity) - (a.lag ?? Infinity),
    );

/** The partition that holds the watermark of a generation back; null if none does. */
export function heldBackBy(generation: Pick<Rated, 'partitions'>): RatedPartition | null {
  const [first] = laggingPartitions(generation);
  return first && (first.lagSeconds ?? Infinity) > heldBackSeconds ? first : null;
}
