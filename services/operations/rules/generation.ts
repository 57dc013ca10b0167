import { counted, digits, orMore } from '../../../shared/runtime/counted.ts';
import { isLastFailure } from '../../../shared/control/failures.ts';
import { isBuild } from '../../../shared/control/generations.ts';
import { describeGaps } from '../../../shared/control/log-gaps.ts';
import { holdCauses } from '../../../shared/control/hold-causes.ts';
import { isSilent } from '../../../shared/control/progress.ts';
import { loadEnds } from '../../../shared/control/registry.ts';
import { tombstoneBound, tombstoneWarning } from '../../projector/generations/tombstones.ts';
import { describeStrangers } from '../../../shared/kafka/group-members.ts';
import type { Commands } from '../deployment.ts';
import type { Facts, GenerationFacts } from '../facts.ts';
import { deadLettersMax } from '../own-rejects.ts';
import { byLag } from '../partitions.ts';
import { followsWithinSeconds, lagText, recordsLeft } from '../progress-text.ts';
import { comparison, isPromotable } from './comparison.ts';
import { everyStep, switches, type Judged, type Rule } from './rule.ts';

export const generationRules = {
  dropping: {
    severity: 'attention',
    blocks: [],
    judge: (_, { generation }, { cli }) =>
      generation.state === 'dropping'
        ? { text: 'it is being dropped', remedy: `${cli} rebuild drop ${generation.number}` }
        : null,
  },
  /** A group that another client occupies. */
  group: {
    severity: 'bad',
    blocks: [],
    judge: ({ kafka }, { generation }) => describeStrangers(kafka.members.get(generation.number) ?? []),
  },
  /** A generation that follows the topics of another `TOPIC_PREFIX`. */
  'other-topics': { severity: 'bad', blocks: [], judge: (_, { otherTopics }) => otherTopics },
  watermark: {
    severity: 'bad',
    blocks: [],
    judge: (_, own, { projector }) =>
      own.isWatermarkLost
        ? {
            text: 'its watermark is lost: a projector sets it again',
            remedy: projector(own.generation.number),
          }
        : null,
  },
  projectors: { severity: 'bad', blocks: everyStep, holds: 'a projector follows it', judge: whyStopped },
  rejects: {
    severity: 'attention',
    blocks: ['ready', 'promote'],
    holds: 'it has no dead letters of its own',
    judge: (_, { generation, firstReject: first, rejectCount }, { cli }) =>
      first
        ? {
            text:
              `it has ${counted(rejectCount, 'dead letter')}${orMore(rejectCount, deadLettersMax)} that the active ` +
              'generation does not have; the first is ' +
              `${first._id} (${first.reason}: ${first.detail}): fix the cause, and re-drive them`,
            remedy: `${cli} dead-letters list`,
            isFinal: isBuild(generation),
          }
        : null,
  },
  load: { severity: 'attention', blocks: [], judge: unreachableLoadEnds },
  tombstones: {
    severity: 'bad',
    blocks: switches,
    holds: 'its lag was never longer than Kafka keeps tombstones',
    judge: (facts, own, commands) => {
      const bound = facts.kafka.settings && tombstoneBound(facts.kafka.settings);
      const text = tombstoneWarning(own.generation, own.watermark, bound, facts.now);
      return text && { text, remedy: replacement(facts, own, commands) };
    },
  },
  lag: { severity: 'bad', blocks: ['ready'], judge: lagging },
  state: {
    severity: 'progress',
    blocks: everyStep,
    holds: 'it is ready, or was served before',
    judge: (_, own, { cli }) => {
      const { number, state } = own.generation;
      if (state !== 'building' && state !== 'catching-up') return null;
      const left = recordsLeft(state, own.lag, own.recordsAfterLoad);
      const holder = state === 'building' ? '' : heldBy(own);
      return { text: `it is ${state}: ${left}${holder}`, remedy: `${cli} rebuild await ${number}` };
    },
  },
  offsets: {
    severity: 'progress',
    blocks: switches,
    waiver: '--accept-older',
    holds: 'it has applied every record that the active generation has applied',
    judge: (_, { generation, laggingPartitions }, { cli }) => {
      const [first] = isPromotable(generation.state) ? laggingPartitions : [];
      return first
        ? {
            text:
              `partition ${first.key}: this generation is at offset ${first.position}, the active one at ` +
              `${first.active} (lagging: ${counted(laggingPartitions.length, 'partition')})`,
            remedy: `${cli} rebuild await ${generation.number}`,
          }
        : null;
    },
  },
  freshness: {
    severity: 'progress',
    blocks: switches,
    waiver: '--accept-older',
    holds: 'its data is as new as that of the active generation',
    judge: staleness,
  },
  replicas: {
    severity: 'attention',
    blocks: switches,
    holds: 'every live API replica can serve it',
    judge: ({ replicas }, { generation: { state, projectionVersion } }) => {
      const unable = replicas.filter(({ versions }) => !versions.includes(projectionVersion));
      const [first] = isPromotable(state) ? unable : [];
      return first
        ? `${unable.length} of ${counted(replicas.length, 'API replica')} cannot serve projection version ` +
            `${projectionVersion}, among them process ${first.pid} on ${first.host}: deploy the API's new release first`
        : null;
    },
  },
  pinned: {
    severity: 'progress',
    blocks: ['promote'],
    holds: 'the projectors of the active generation are pinned to its number',
    judge: ({ registry, generations }, { generation: { state } }, commands) => {
      const active = registry?.generation ?? 1;
      const isUnpinned = generations.some((one) => one.generation.number === active && one.isUnpinned);
      return isUnpinned && state === 'ready' ? unpinned(active, commands) : null;
    },
  },
  compared: {
    severity: 'progress',
    blocks: ['promote'],
    holds: 'it was compared with the active generation, without a difference',
    judge: comparison,
  },
  next: {
    severity: 'progress',
    blocks: [],
    judge: (_, { generation: { number, state } }, { cli }) =>
      state === 'ready'
        ? { text: 'every check holds', remedy: `${cli} rebuild promote ${number}` }
        : state === 'standby'
          ? {
              text: 'only if the active generation is wrong: this one is served again',
              remedy: `${cli} rebuild rollback ${number}`,
            }
          : null,
  },
} satisfies Record<string, Rule<GenerationFacts>>;

/** Tells that a projector of the active generation has no number, and how to give it one. */
export const unpinned = (active: number, { projector }: Commands) => ({
  text:
    `a projector of generation ${active} runs without GENERATION=${active}: restarted after the promotion, it ` +
    'would leave that generation, and a rollback would be lost; restart it with the number first',
  remedy: projector(active),
});

/** From this lag on, in seconds, customers notice the age of the data. */
export const staleAfterSeconds = 30;

/** How to replace a generation that must not be trusted, or cannot continue. */
function replacement({ registry }: Facts, { generation }: GenerationFacts, { cli }: Commands): string {
  if (generation.state !== 'active') return `${cli} rebuild drop ${generation.number}`;
  const build = registry?.generations.find(isBuild);
  return build ? `${cli} rebuild await ${build.number}` : `${cli} rebuild start`;
}

/**
 * Why no projector follows a generation, with a remedy unless projectors still run. The documents of a generation without
 * projectors would never change again.
 */
function whyStopped(facts: Facts, own: GenerationFacts, commands: Commands): Judged | string | null {
  const { generation, gaps, recreated, failure, savedAt } = own;
  if (generation.state === 'dropping') return null;
  const restart = commands.projector(generation.number);
  const replace = replacement(facts, own, commands);
  const [firstGap] = gaps;
  if (firstGap)
    return {
      text:
        `no projector can continue since ${firstGap.at.toISOString()}, because its log has a gap: ${describeGaps(gaps)}; rebuild ` +
        `the read model, or accept the gap: ${commands.cli} rebuild accept-gap ${generation.number} (docs/rebuilding.md, After a gap)`,
      remedy: replace,
      isFinal: true,
    };
  if (recreated.length > 0)
    return {
      text:
        `${recreated.join(', ')}: deleted and created again since its records were applied, so no projector can continue: ` +
        'restore its records, or rebuild the read model (docs/rebuilding.md, After a gap)',
      remedy: replace,
      isFinal: true,
    };
  const isStopped = savedAt !== null && isSilent(savedAt, facts.now);
  const waiting = isStopped || savedAt === null ? whyWaiting(facts, own, restart) : null;
  if (waiting) return waiting;
  if (failure && isStopped && isLastFailure(failure, savedAt))
    return {
      text: `its projectors ended at ${failure.at.toISOString()}: ${failure.reason}`,
      remedy: restart,
    };
  if (isStopped) return whySilent(facts, own, savedAt, restart);
  if (savedAt === null && (own.watermark?.getTime() ?? 0) > 0)
    return {
      text: 'its progress is lost, so no projector continues: restore the collection progress from a backup, or rebuild',
      remedy: replace,
      isFinal: true,
    };
  return savedAt ? null : { text: 'no projector has run on it yet', remedy: restart };
}

/** Why the projectors of a generation apply nothing, as the one says that was heard of last; null if none says so. */
function whyWaiting(
  { registry, kafka, waiting }: Facts,
  own: GenerationFacts,
  restart: string,
): Judged | null {
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
  return {
    text: `a projector cannot start: process ${pid} on ${host}${more}: ${reason}`,
    // A refused one has ended.
    remedy: state === 'refused' ? restart : null,
  };
}

/** Projectors that save nothing still run if their group has members. If its coordinator does not answer, that is unknown. */
function whySilent({ kafka }: Facts, own: GenerationFacts, savedAt: Date, restart: string): Judged | string {
  const since = savedAt.toISOString();
  // The Kafka client leaves its group while a topic is missing, so the group does not tell whether projectors run.
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

/** A load cannot end if its topic was created again since, because the new log is shorter. */
function unreachableLoadEnds(facts: Facts, own: GenerationFacts, commands: Commands): Judged[] {
  const { log } = facts.kafka;
  const remedy = replacement(facts, own, commands);
  return [...(loadEnds(own.generation) ?? [])].flatMap(([key, loadEnd]) => {
    const end = log?.ends.get(key)?.end ?? (log && !log.partitions.includes(key) ? 0 : Infinity);
    const text =
      `the load of ${key} ends at offset ${loadEnd}, but its log ends at ${end}: if the topic was deleted and ` +
      'created again, the load cannot end';
    return end >= loadEnd ? [] : [{ text, remedy }];
  });
}

/** A generation that was loaded and does not follow, with the partition that holds it. */
function lagging(_: Facts, own: GenerationFacts): Judged | null {
  const { generation, lagSeconds } = own;
  // Another rule tells of it.
  if (own.isWatermarkLost) return null;
  const isFollowing = ['ready', 'active', 'standby'].includes(generation.state);
  if (!isFollowing || (lagSeconds ?? Infinity) <= followsWithinSeconds) return null;
  const severity = (lagSeconds ?? Infinity) > staleAfterSeconds ? 'bad' : 'attention';
  return lagSeconds === null
    ? { text: `some partitions were never applied to the end of their log${heldBy(own)}`, severity }
    : { text: `it lags by ${digits(lagSeconds)} s${heldBy(own)}`, severity };
}

/** The partition that holds the watermark of a generation that does not follow, and its cause. */
function heldBy({ partitions, topics }: GenerationFacts): string {
  const [slowest] = partitions
    .filter(({ lag, lagSeconds }) => lag !== 0 || (lagSeconds ?? Infinity) > followsWithinSeconds)
    .toSorted(byLag);
  return slowest ? `, held by ${lagText(slowest, topics)}` : '';
}

function staleness({ registry, generations }: Facts, own: GenerationFacts, { cli }: Commands): Judged | null {
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
