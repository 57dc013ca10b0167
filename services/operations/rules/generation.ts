import { isBuild } from '../../../shared/control/generations.ts';
import { describeLost } from '../../../shared/control/manifest.ts';
import { isUnpinned, processText } from '../../../shared/control/processes.ts';
import { describeForeignMembers } from '../../../shared/kafka/group-members.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import { tombstoneBound, tombstoneWarning } from '../../projector/generations/tombstones.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import type { GenerationFacts } from '../generation-facts.ts';
import { byLag } from '../partitions.ts';
import { followsWithinSeconds, lagText, recordsLeft } from '../progress-text.ts';
import { comparison, isPromotable } from './comparison.ts';
import { missingPartitions, unreachableLoadEnds } from './partitions.ts';
import { replacement, stopFinding, sweepFailure } from './projectors.ts';
import { activeOf, everyStep, type Rule, type RuleFinding, switches } from './rule.ts';
import { structureFindings } from './structures.ts';

export const generationRules = {
  dropping: {
    severity: 'attention',
    blocks: [],
    evaluate: (_, { generation }, { cli }) =>
      generation.state === 'dropping'
        ? { text: 'it is being dropped', fix: `${cli} rebuild drop ${generation.number}` }
        : null,
  },
  /** A foreign member in the consumer group of its projectors. */
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
    evaluate: (_, generationFacts, { projector }) =>
      generationFacts.isWatermarkLost
        ? {
            text: 'its watermark is lost: a projector sets it again',
            fix: projector(generationFacts.generation.number),
          }
        : null,
  },
  /** A database without the collections that its projectors have filled. */
  lost: {
    severity: 'bad',
    blocks: everyStep,
    acceptAs: 'lost',
    passes: 'its database has every collection that its projectors have filled',
    evaluate: (facts, generationFacts, commands) =>
      generationFacts.structures.lost.length === 0
        ? null
        : {
            text:
              `its documents are lost: ${describeLost(generationFacts.structures.lost)}. No projector of it starts, and while it is served ` +
              'the API answers 503: restore them from a backup and accept the restored ones, or rebuild (docs/recover.md)',
            fix: replacement(facts, generationFacts, commands),
            isFinal: true,
          },
  },
  /** A database without all its indexes. */
  structures: { severity: 'bad', blocks: [], evaluate: structureFindings },
  projectors: { severity: 'bad', blocks: everyStep, passes: 'a projector follows it', evaluate: stopFinding },
  partitions: {
    severity: 'bad',
    blocks: everyStep,
    acceptAs: 'gap',
    passes: 'every partition that it has followed exists',
    evaluate: missingPartitions,
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
              `${first.id} (${first.reason}: ${first.detail}): fix the cause, and redrive them`,
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
    evaluate: (facts, generationFacts, commands) => {
      const bound = facts.kafka.settings && tombstoneBound(facts.kafka.settings);
      const text = tombstoneWarning(generationFacts.generation, generationFacts.watermark, bound, facts.now);
      return text && { text, fix: replacement(facts, generationFacts, commands) };
    },
  },
  lag: { severity: 'bad', blocks: ['ready'], evaluate: lagFinding },
  state: {
    severity: 'progress',
    blocks: everyStep,
    passes: 'it is ready, or was served before',
    evaluate: (_, generationFacts, { cli }) => {
      const { number, state } = generationFacts.generation;
      if (state !== 'building' && state !== 'catching-up') return null;
      const left = recordsLeft(state, generationFacts.lag, generationFacts.recordsAfterLoad);
      const holder = state === 'building' ? '' : slowestPartitionText(generationFacts);
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
    evaluate: olderDataFinding,
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
            `${projectionVersion}, among them ${processText(first)}: deploy the API's new release first`
        : null;
    },
  },
  pinned: {
    severity: 'progress',
    blocks: ['promote'],
    passes: 'the projectors of the active generation are pinned to its number',
    evaluate: (facts, { generation: { state } }, commands) => {
      const active = activeOf(facts);
      if (!active || state !== 'ready' || !isUnpinned(active.projectors, facts.now)) return null;
      return unpinnedFinding(active.generation.number, commands);
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
export const unpinnedFinding = (active: number, { projector }: Commands) => ({
  text:
    `a projector of generation ${active} runs without GENERATION=${active}: restarted after the promotion, it ` +
    'would leave that generation, and a rollback would be lost; restart it with the number first',
  fix: projector(active),
});

/** From this lag on, in seconds, customers notice the age of the data. */
export const staleAfterSeconds = 30;

/** Reports a loaded generation whose watermark lags, with its slowest partition. */
function lagFinding(_: Facts, generationFacts: GenerationFacts): RuleFinding | null {
  const { generation, lagSeconds, isWatermarkLost } = generationFacts;
  const isLoaded = ['ready', 'active', 'standby'].includes(generation.state);
  // The rule `watermark` reports a lost one.
  if (!isLoaded || isWatermarkLost) return null;
  if (lagSeconds === null)
    return {
      text: `some partitions were never applied to the end of their log${slowestPartitionText(generationFacts)}`,
      severity: 'bad',
    };
  if (lagSeconds <= followsWithinSeconds) return null;
  const severity = lagSeconds > staleAfterSeconds ? 'bad' : 'attention';
  return { text: `it lags by ${digits(lagSeconds)} s${slowestPartitionText(generationFacts)}`, severity };
}

/** `, held by <partition>: …`, for the partition with the longest lag; empty if every partition follows. */
function slowestPartitionText({ partitions, topics }: GenerationFacts): string {
  const [slowest] = partitions
    .filter(({ lag, lagSeconds }) => lag !== 0 || (lagSeconds ?? Infinity) > followsWithinSeconds)
    .toSorted(byLag);
  return slowest ? `, held by ${lagText(slowest, topics)}` : '';
}

/** Reports that a switch would serve older data than the active generation. */
function olderDataFinding(
  facts: Facts,
  { generation, watermark }: GenerationFacts,
  { cli }: Commands,
): RuleFinding | null {
  if (!isPromotable(generation.state)) return null;
  // A watermark of 1970 means that a partition was never applied to the end of its log.
  const ownMs = watermark?.getTime() ?? 0;
  const activeMs = activeOf(facts)?.watermark?.getTime() ?? 0;
  const staleMs = activeMs - ownMs;
  if (staleMs <= followsWithinSeconds * 1_000) return null;
  const fix = `${cli} rebuild await ${generation.number}`;
  if (ownMs === 0)
    return {
      text: 'it has no watermark yet: some partitions were never applied to the end of their log',
      fix,
    };
  return {
    text:
      `its watermark ${new Date(ownMs).toISOString()} is ${digits(staleMs / 1_000)} s older than that of the active ` +
      'generation (keys archived since then work again)',
    fix,
  };
}
