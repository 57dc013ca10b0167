import { isBuild } from '../../../shared/control/generations.ts';
import { describeLost } from '../../../shared/control/manifest.ts';
import { isUnpinned } from '../../../shared/control/processes.ts';
import { loadEnds } from '../../../shared/control/registry.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import { describeForeignMembers } from '../../../shared/kafka/group-members.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import { tombstoneBound, tombstoneWarning } from '../../projector/generations/tombstones.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import type { GenerationFacts } from '../generation-facts.ts';
import { byLag, withoutLog } from '../partitions.ts';
import { followsWithinSeconds, lagText, recordsLeft } from '../progress-text.ts';
import { comparison, isPromotable } from './comparison.ts';
import { replacement, sweepFailure, whyStopped } from './projectors.ts';
import { everyStep, type Rule, type RuleFinding, switches } from './rule.ts';
import { lackingStructures } from './structures.ts';

export const generationRules = {
  dropping: {
    severity: 'attention',
    blocks: [],
    evaluate: (_, { generation }, { cli }) =>
      generation.state === 'dropping'
        ? { text: 'it is being dropped', fix: `${cli} rebuild drop ${generation.number}` }
        : null,
  },
  /** A group that another client occupies. */
  group: {
    severity: 'bad',
    blocks: [],
    evaluate: ({ kafka }, { generation }) =>
      describeForeignMembers(kafka.members.get(generation.number) ?? []),
  },
  /** A generation that follows the topics of another `TOPIC_PREFIX`. */
  'other-topics': { severity: 'bad', blocks: [], evaluate: (_, { otherTopics }) => otherTopics },
  watermark: {
    severity: 'bad',
    blocks: [],
    evaluate: (_, own, { projector }) =>
      own.isWatermarkLost
        ? { text: 'its watermark is lost: a projector sets it again', fix: projector(own.generation.number) }
        : null,
  },
  /** A database without the collections that its projectors have filled. */
  lost: {
    severity: 'bad',
    blocks: everyStep,
    acceptAs: 'lost',
    passes: 'its database has every collection that its projectors have filled',
    evaluate: (facts, own, commands) =>
      own.structures.lost.length === 0
        ? null
        : {
            text:
              `its documents are lost: ${describeLost(own.structures.lost)}. No projector of it starts, and while it is served ` +
              'the API answers 503: restore them from a backup, then accept that, or rebuild (docs/recover.md)',
            fix: replacement(facts, own, commands),
            isFinal: true,
          },
  },
  /** A database without all its indexes. */
  structures: { severity: 'bad', blocks: [], evaluate: lackingStructures },
  projectors: { severity: 'bad', blocks: everyStep, passes: 'a projector follows it', evaluate: whyStopped },
  partitions: {
    severity: 'bad',
    blocks: everyStep,
    acceptAs: 'gap',
    passes: 'every partition that it has followed exists',
    evaluate: gonePartitions,
  },
  sweep: { severity: 'attention', blocks: [], evaluate: (_, { projectors }) => sweepFailure(projectors) },
  rejects: {
    severity: 'attention',
    blocks: ['ready', 'promote'],
    passes: 'it has no dead letters of its own',
    evaluate: (_, { generation, firstReject: first, rejectCount }, { cli }) => {
      if (rejectCount === null) return 'MongoDB refuses to count its dead letters';
      return first
        ? {
            text:
              `it has ${counted(rejectCount, 'dead letter')} that the active generation does not have; the first is ` +
              `${first.id} (${first.reason}: ${first.detail}): fix the cause, and re-drive them`,
            fix: `${cli} dead-letters list`,
            isFinal: isBuild(generation),
          }
        : null;
    },
  },
  load: { severity: 'attention', blocks: [], evaluate: unreachableLoadEnds },
  tombstones: {
    severity: 'bad',
    blocks: switches,
    passes: 'its lag was never longer than Kafka keeps tombstones',
    evaluate: (facts, own, commands) => {
      const bound = facts.kafka.settings && tombstoneBound(facts.kafka.settings);
      const text = tombstoneWarning(own.generation, own.watermark, bound, facts.now);
      return text && { text, fix: replacement(facts, own, commands) };
    },
  },
  lag: { severity: 'bad', blocks: ['ready'], evaluate: lagging },
  state: {
    severity: 'progress',
    blocks: everyStep,
    passes: 'it is ready, or was served before',
    evaluate: (_, own, { cli }) => {
      const { number, state } = own.generation;
      if (state !== 'building' && state !== 'catching-up') return null;
      const left = recordsLeft(state, own.lag, own.recordsAfterLoad);
      const holder = state === 'building' ? '' : heldBy(own);
      return { text: `it is ${state}: ${left}${holder}`, fix: `${cli} rebuild await ${number}` };
    },
  },
  offsets: {
    severity: 'progress',
    blocks: switches,
    acceptAs: 'older',
    passes: 'it has applied every record that the active generation has applied',
    evaluate: (_, { generation, laggingPartitions }, { cli }) => {
      const [first] = isPromotable(generation.state) ? laggingPartitions : [];
      return first
        ? {
            text:
              `partition ${first.key}: this generation is at offset ${first.position}, the active one at ` +
              `${first.active} (lagging: ${counted(laggingPartitions.length, 'partition')})`,
            fix: `${cli} rebuild await ${generation.number}`,
          }
        : null;
    },
  },
  freshness: {
    severity: 'progress',
    blocks: switches,
    acceptAs: 'older',
    passes: 'its data is as new as that of the active generation',
    evaluate: staleness,
  },
  replicas: {
    severity: 'attention',
    blocks: switches,
    passes: 'every live API replica can serve it',
    evaluate: ({ replicas }, { generation: { state, projectionVersion } }) => {
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
    passes: 'the projectors of the active generation are pinned to its number',
    evaluate: ({ registry, generations, now }, { generation: { state } }, commands) => {
      const active = registry?.generation ?? 1;
      const projectors = generations.find((one) => one.generation.number === active)?.projectors ?? [];
      return state === 'ready' && isUnpinned(projectors, now) ? unpinned(active, commands) : null;
    },
  },
  compared: {
    severity: 'progress',
    blocks: ['promote'],
    passes: 'it was compared with the active generation, without a difference',
    evaluate: comparison,
  },
  next: {
    severity: 'progress',
    blocks: [],
    evaluate: (_, { generation: { number, state } }, { cli }) => {
      if (state === 'ready') return { text: 'every check passes', fix: `${cli} rebuild promote ${number}` };
      if (state !== 'standby') return null;
      const text = 'only if the active generation is wrong: this one is served again';
      return { text, fix: `${cli} rebuild rollback ${number}` };
    },
  },
} satisfies Record<string, Rule<GenerationFacts>>;

/** Reports that a projector of the active generation has no number, and how to give it one. */
export const unpinned = (active: number, { projector }: Commands) => ({
  text:
    `a projector of generation ${active} runs without GENERATION=${active}: restarted after the promotion, it ` +
    'would leave that generation, and a rollback would be lost; restart it with the number first',
  fix: projector(active),
});

/** Partitions that no longer exist: their progress holds the watermark for good. A gap concerns the whole topic. */
function gonePartitions({ kafka: { log } }: Facts, { partitions, gaps, recreated }: GenerationFacts) {
  if (!log || gaps.length > 0 || recreated.length > 0) return null;
  const [first, ...others] = withoutLog(partitions, log);
  if (!first) return null;
  const more = others.length === 0 ? '' : ` (and ${counted(others.length, 'further partition')})`;
  const exist = log.partitions.filter((key) => parsePartitionKey(key).topic === first.topic).length;
  return (
    `${partitionKey(first)}${more} no longer exists, because the topic has ${counted(exist, 'partition')} now, so Data-As-Of ` +
    'stands still: the records of this partition that were not applied are lost; rebuild, or accept that (docs/gaps.md)'
  );
}

/** From this lag on, in seconds, customers notice the age of the data. */
export const staleAfterSeconds = 30;

/** A load cannot end if someone has created its topic again after its start, because the new log is shorter. */
function unreachableLoadEnds(facts: Facts, own: GenerationFacts, commands: Commands): RuleFinding[] {
  const { log } = facts.kafka;
  const fix = replacement(facts, own, commands);
  return [...(loadEnds(own.generation) ?? [])].flatMap(([key, loadEnd]) => {
    const end = log?.ends.get(key)?.end ?? (log && !log.partitions.includes(key) ? 0 : Infinity);
    const text =
      `the load of ${key} ends at offset ${loadEnd}, but its log ends at ${end}: if the topic was deleted and ` +
      'created again, the load cannot end';
    return end >= loadEnd ? [] : [{ text, fix }];
  });
}

/** A generation that was loaded and does not follow, with the partition that holds it. */
function lagging(_: Facts, own: GenerationFacts): RuleFinding | null {
  const { generation, lagSeconds } = own;
  // Another rule reports it.
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

function staleness(
  { registry, generations }: Facts,
  own: GenerationFacts,
  { cli }: Commands,
): RuleFinding | null {
  const { generation, watermark } = own;
  const active = generations.find((one) => one.generation.number === registry?.generation)?.watermark;
  const staleMs = (active?.getTime() ?? 0) - (watermark?.getTime() ?? 0);
  if (!isPromotable(generation.state) || staleMs <= followsWithinSeconds * 1_000) return null;
  const fix = `${cli} rebuild await ${generation.number}`;
  return watermark && watermark.getTime() > 0
    ? {
        text:
          `its watermark ${watermark.toISOString()} is ${digits(staleMs / 1_000)} s older than that of the active ` +
          'generation (keys archived since then work again)',
        fix,
      }
    : { text: 'it has no watermark yet: some partitions were never applied to the end of their log', fix };
}
