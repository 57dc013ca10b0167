import { isLastFailure } from '../../../shared/control/failures.ts';
import { isBuild } from '../../../shared/control/generations.ts';
import { holdCauses } from '../../../shared/control/hold-causes.ts';
import { describeGaps } from '../../../shared/control/log-gaps.ts';
import { isSilent } from '../../../shared/control/progress.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import type { GenerationFacts } from '../generation-facts.ts';
import type { Judged } from './rule.ts';

/** How to replace a generation that must not be trusted, or cannot continue. */
export function replacement({ registry }: Facts, { generation }: GenerationFacts, { cli }: Commands): string {
  if (generation.state !== 'active') return `${cli} rebuild drop ${generation.number}`;
  const build = registry?.generations.find(isBuild);
  return build ? `${cli} rebuild await ${build.number}` : `${cli} rebuild start`;
}

/**
 * Why no projector follows a generation, with a remedy unless projectors still run. The documents of a generation
 * without projectors would never change again.
 */
export function whyStopped(facts: Facts, own: GenerationFacts, commands: Commands): Judged | string | null {
  const { generation, gaps, recreated, failure, savedAt } = own;
  if (generation.state === 'dropping') return null;
  const restart = commands.projector(generation.number);
  const replace = replacement(facts, own, commands);
  const [firstGap] = gaps;
  if (firstGap)
    return {
      text:
        `no projector can continue since ${firstGap.at.toISOString()}, because its log has a gap: ${describeGaps(gaps)}; rebuild ` +
        'the read model, or accept the gap (docs/gaps.md)',
      remedy: replace,
      isFinal: true,
      waiver: 'gap',
    };
  if (recreated.length > 0)
    return {
      text:
        `${recreated.join(', ')}: deleted and created again since its records were applied, so no projector can continue: ` +
        'restore its records, rebuild the read model, or accept the gap (docs/gaps.md)',
      remedy: replace,
      isFinal: true,
      waiver: 'gap',
    };
  if (savedAt === null && (own.watermark?.getTime() ?? 0) > 0)
    return {
      text: 'its progress is lost, so no projector continues: restore the collection progress from a backup, or rebuild',
      remedy: replace,
      isFinal: true,
    };
  const isStopped = savedAt !== null && isSilent(savedAt, facts.now);
  const waiting = isStopped || savedAt === null ? whyWaiting(facts, own) : null;
  if (waiting) return waiting;
  if (failure && (isStopped || savedAt === null) && isLastFailure(failure, savedAt))
    return {
      text: `its projectors ended at ${failure.at.toISOString()}: ${failure.reason}`,
      remedy: restart,
    };
  if (isStopped) return whySilent(facts, own, savedAt, restart);
  return savedAt ? null : { text: 'no projector has run on it yet', remedy: restart };
}

/** Why the projectors of a generation apply nothing, as the one says that was heard of last; null if none says so. */
function whyWaiting({ registry, kafka, waiting }: Facts, own: GenerationFacts): Judged | null {
  const { generation, failure, savedAt } = own;
  const ofOwn = waiting.filter((one) => (one.generation ?? registry?.generation) === generation.number);
  const [last, ...others] = ofOwn;
  if (!last) return null;
  // A projector that has ended since may have said why before.
  const isOlder = failure !== null && failure.at > last.at;
  // Without a topic Kafka cannot be read, and the topics are said to be missing.
  const isTopicMissing = last.state === 'cut_off' && kafka.missing.length > 0;
  if (isOlder || isTopicMissing) return null;
  const { host, pid, state, reason } = last;
  const more = others.length === 0 ? '' : ` (and ${counted(others.length, 'other')})`;
  const since = savedAt ? ` since ${savedAt.toISOString()}` : '';
  if (state === 'cut_off')
    return {
      text: `its projectors run, but are cut off from Kafka${since}: process ${pid} on ${host}${more}: ${reason}`,
    };
  // The reason says what to do. To start a refused one again would be refused again.
  return { text: `a projector cannot start: process ${pid} on ${host}${more}: ${reason}` };
}

/** Projectors that save nothing still run if their group has members: unknown if its coordinator does not answer. */
function whySilent({ kafka }: Facts, own: GenerationFacts, savedAt: Date, restart: string): Judged | string {
  const since = savedAt.toISOString();
  // A start waits for missing topics outside the group, so the group does not tell whether projectors run.
  if (kafka.missing.length > 0 && kafka.otherPrefixes.length === 0)
    return `no progress has been saved since ${since}, because topics are missing`;
  const members = kafka.members.get(own.generation.number);
  if (!members)
    return `no progress has been saved since ${since}, and Kafka does not tell whether projectors run: see their logs`;
  if (members.length === 0) return { text: `no projector has run since ${since}`, remedy: restart };
  const cause = own.partitions.find((one) => one.cause !== null)?.cause ?? null;
  const last = cause === null ? '' : ` (the last known cause: ${holdCauses[cause]})`;
  return `its projectors run, but have saved no progress since ${since}${last}: see their logs`;
}
