import { dayMs } from '../../shared/documents/instant.ts';
import { counted, digits } from '../../shared/runtime/counted.ts';
import { isLastFailure } from '../../shared/control/failures.ts';
import type { ComparisonReport, GenerationState } from '../../shared/control/generations.ts';
import { isSilent } from '../../shared/control/progress.ts';
import { loadEnds } from '../../shared/control/registry.ts';
import { describeStrays } from '../projector/kafka/group-members.ts';
import type { Facts, GenerationFacts } from './facts.ts';
import type { Context, Judged } from './finding.ts';
import { byLag } from './partitions.ts';
import { followsWithinSeconds, lagText } from './progress-text.ts';
import { expectationText } from './rebuild/differences.ts';
import { isBuild } from './rebuild/transitions.ts';

/** From this lag on, in seconds, customers notice the age of the data. */
export const staleAfterSeconds = 30;
/** A comparison expires after this time, because both generations change, and the release of the CLI may change too. */
const reportValidMs = dayMs;

export const isPromotable = (state: GenerationState) => state === 'ready' || state === 'standby';

/** How to replace a generation that must not be trusted, or cannot continue. */
export function replacement(
  { generation: { number, state } }: GenerationFacts,
  { cli }: Context,
  generations: { number: number; state: GenerationState }[],
): string {
  if (state !== 'active') return `${cli} rebuild drop ${number}`;
  const build = generations.find(isBuild);
  return build ? `${cli} rebuild await ${build.number}` : `${cli} rebuild start`;
}

/** Why no projector follows a generation. The documents of a generation without projectors would never change again. */
export function whyStopped(facts: Facts, own: GenerationFacts, commands: Context): Judged | null {
  const { generation, recreated, failure, savedAt } = own;
  if (generation.state === 'dropping') return null;
  const restart = commands.projector(generation.number);
  const replace = replacement(own, commands, facts.registry?.generations ?? []);
  if (recreated.length > 0)
    return {
      text: `${recreated.join(', ')}: deleted and created again since its records were applied, so no projector can continue`,
      remedy: replace,
      isFinal: true,
    };
  const isStopped = savedAt !== null && isSilent(savedAt, facts.now);
  if (failure && isLastFailure(failure, savedAt) && (failure.isFinal || isStopped)) {
    const { at, reason, isFinal } = failure;
    return {
      text: `its projectors ended at ${at.toISOString()}: ${reason}`,
      remedy: isFinal ? replace : restart,
      isFinal,
    };
  }
  if (isStopped) return { text: `no projector has run since ${savedAt.toISOString()}`, remedy: restart };
  return savedAt ? null : { text: 'no projector has run on it yet', remedy: restart };
}

/** A group that another client occupies. */
export function occupied({ kafka }: Facts, { generation: { number } }: GenerationFacts): Judged | null {
  const text = describeStrays(kafka.members.get(number) ?? []);
  return text === null ? null : { text };
}

/** A load cannot end if its topic was created again since, because the new log is shorter. */
export function unreachableLoadEnds(
  { kafka: { log }, registry }: Facts,
  own: GenerationFacts,
  commands: Context,
): Judged[] {
  return [...(loadEnds(own.generation) ?? [])].flatMap(([key, loadEnd]) => {
    const end = log?.ends.get(key)?.end ?? (log && !log.partitions.includes(key) ? 0 : Infinity);
    return end >= loadEnd
      ? []
      : [
          {
            text:
              `the load of ${key} ends at offset ${loadEnd}, but its log ends at ${end}: if the topic was deleted and ` +
              'created again, the load cannot end',
            remedy: replacement(own, commands, registry?.generations ?? []),
          },
        ];
  });
}

/** A generation that was loaded and does not follow, with the partition that holds it. */
export function lagging(_: Facts, own: GenerationFacts, { maxLagSeconds }: Context): Judged | null {
  const { generation, lagSeconds } = own;
  const isFollowing = ['ready', 'active', 'standby'].includes(generation.state);
  if (!isFollowing || (lagSeconds ?? Infinity) <= maxLagSeconds) return null;
  const severity = (lagSeconds ?? Infinity) > staleAfterSeconds ? 'bad' : 'attention';
  return lagSeconds === null
    ? { text: `some partitions were never applied to the end of their log${heldBy(own)}`, severity }
    : { text: `it lags by ${digits(lagSeconds)} s${heldBy(own)}`, severity };
}

/** The partition that holds the watermark of a generation that does not follow, and its cause. */
export function heldBy({ partitions, topics }: GenerationFacts): string {
  const [slowest] = partitions
    .filter(({ lag, lagSeconds }) => lag !== 0 || (lagSeconds ?? Infinity) > followsWithinSeconds)
    .toSorted(byLag);
  return slowest ? `, held by ${lagText(slowest, topics)}` : '';
}

export function staleness(
  { registry, generations }: Facts,
  own: GenerationFacts,
  { cli }: Context,
): Judged | null {
  const { generation, watermark } = own;
  const active = generations.find((one) => one.generation.number === registry?.generation)?.watermark;
  const staleMs = (active?.getTime() ?? 0) - (watermark?.getTime() ?? 0);
  if (!isPromotable(generation.state) || staleMs <= followsWithinSeconds * 1_000) return null;
  const remedy = `${cli} rebuild await ${generation.number}`;
  return watermark && watermark.getTime() > 0
    ? {
        text:
          `its watermark ${watermark.toISOString()} is ${digits(staleMs / 1_000)} s older than that of the active ` +
          'generation (keys archived since then work again)',
        remedy,
      }
    : { text: 'it has no watermark yet: some partitions were never applied to the end of their log', remedy };
}

export function comparison(facts: Facts, { generation }: GenerationFacts, { cli }: Context): Judged | null {
  const { number, report, state } = generation;
  if (!isPromotable(state)) return null;
  const remedy = `${cli} rebuild compare ${number}`;
  if (!report) return { text: `generation ${number} was not compared with the active one`, remedy };
  const reason = whyExpired(facts, generation.projectionVersion, report);
  if (reason) return { text: `the comparison is no longer valid, because ${reason}`, remedy };
  const { differences, differing, compared, expected, by, expectations } = report;
  const waived = expectations.map(expectationText).join(', ');
  const intended =
    expected > 0 ? `, ${counted(expected, 'intended difference')} waived by ${by} (${waived})` : '';
  if (differences > 0)
    return {
      text:
        `differences in ${differing} of ${counted(compared, 'document')}${intended}: fix the projection, or name the ` +
        'intended differences with --expect',
      remedy,
    };
  return expected > 0
    ? { text: `${compared} compared: 0 unintended differences${intended}`, isWaived: true }
    : null;
}

function whyExpired(
  { registry, generations, kafka: { log }, now }: Facts,
  version: number,
  { against, versions, lows, at }: ComparisonReport,
): string | null {
  const active = generations.find((one) => one.generation.number === registry?.generation)?.generation;
  if (against !== active?.number)
    return `it was made with generation ${against}, and ${active?.number} is active now`;
  if (versions.generation !== version || versions.against !== active.projectionVersion)
    return 'a projection version has changed since';
  const moved = lows.find(({ partition, low }) => (log?.ends.get(partition)?.low ?? low) !== low);
  if (moved) return `the log of ${moved.partition} now begins at another offset`;
  return now.getTime() - at.getTime() > reportValidMs ? 'it is older than a day' : null;
}
