import { counted, digits } from '../../shared/runtime/counted.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { tombstoneBound, tombstoneWarning } from '../projector/generations/tombstones.ts';
import { topicWarnings } from '../projector/kafka/topic-settings.ts';
import { deadLettersMax, type GenerationFacts } from './facts.ts';
import type { Rule, Step } from './finding.ts';
import {
  comparison,
  heldBy,
  isPromotable,
  lagging,
  occupied,
  replacement,
  staleness,
  unreachableLoadEnds,
  whyStopped,
} from './judges.ts';
import { isBuild } from './rebuild/transitions.ts';

const every: readonly Step[] = ['ready', 'promote', 'rollback'];
const switches: readonly Step[] = ['promote', 'rollback'];

/** The rules for the whole system. */
export const systemRules: Rule<null>[] = [
  {
    name: 'registry',
    severity: 'bad',
    blocks: [],
    judge: ({ registry }, _, { projector }) =>
      registry ? null : { text: 'no projector has started on this database', remedy: projector(1) },
  },
  {
    name: 'kafka',
    severity: 'bad',
    blocks: every,
    judge: ({ kafka }) =>
      kafka.problem
        ? { text: /^Kafka /.test(kafka.problem) ? kafka.problem : `Kafka (KAFKA_BROKERS): ${kafka.problem}` }
        : null,
  },
  {
    name: 'settings',
    severity: 'attention',
    blocks: switches,
    judge: ({ kafka: { settingsProblem } }) =>
      settingsProblem === null
        ? null
        : {
            text: `cannot read the configuration of the topics; the Kafka user needs DescribeConfigs: ${settingsProblem}`,
          },
  },
  {
    name: 'leaders',
    severity: 'bad',
    blocks: [],
    judge: ({ kafka: { log } }) => {
      const unread = (log?.partitions ?? []).filter((key) => !log?.ends.has(key)).toSorted();
      const others = unread.length > 1 ? ` (${unread.length} partitions have none)` : '';
      return unread[0]
        ? { text: `${unread[0]}: its log cannot be read, because no leader answers${others}` }
        : null;
    },
  },
  {
    name: 'brokers',
    severity: 'attention',
    blocks: [],
    judge: ({ kafka: { log } }) =>
      (log?.unreachable ?? []).map(({ broker, error }) => ({
        text: `broker ${broker} does not answer: ${errorMessage(error)}`,
      })),
  },
  {
    name: 'api',
    severity: 'bad',
    blocks: [],
    judge: ({ replicas }) => (replicas.length === 0 ? { text: 'no API replica is live' } : null),
  },
  {
    name: 'topics',
    severity: 'attention',
    blocks: [],
    judge: ({ kafka: { settings, missing }, rebuildDaysMax }, _, { cli }) => [
      ...(missing.length > 0
        ? [{ text: `missing topics: ${missing.join(', ')}`, remedy: `${cli} topics create` }]
        : []),
      ...topicWarnings(settings ?? [], rebuildDaysMax).map(({ text }) => ({ text })),
    ],
  },
  {
    name: 'dead-letters',
    severity: 'attention',
    blocks: [],
    judge: ({ deadLetters }, _, { cli }) =>
      deadLetters === 0
        ? null
        : {
            text: `dead letters: ${digits(deadLetters)}${deadLetters >= deadLettersMax ? ' or more' : ''}`,
            remedy: `${cli} dead-letters list`,
          },
  },
];

/** The rules for one generation. */
export const generationRules: Rule<GenerationFacts>[] = [
  {
    name: 'dropping',
    severity: 'attention',
    blocks: [],
    judge: (_, { generation }, { cli }) =>
      generation.state === 'dropping'
        ? { text: 'it is being dropped', remedy: `${cli} rebuild drop ${generation.number}` }
        : null,
  },
  { name: 'group', severity: 'bad', blocks: [], judge: occupied },
  { name: 'projectors', severity: 'bad', blocks: every, holds: 'a projector follows it', judge: whyStopped },
  {
    name: 'rejects',
    severity: 'attention',
    blocks: ['ready', 'promote'],
    holds: 'it has no dead letter that the active generation does not have',
    judge: (_, { generation, rejects: [first], rejectCount }, { cli }) =>
      first
        ? {
            text:
              `it has ${counted(rejectCount, 'dead letter')} that the active generation does not have; the first is ` +
              `${first._id} (${first.reason}: ${first.detail}): fix the cause and re-drive them, or purge them`,
            remedy: `${cli} dead-letters list`,
            isFinal: isBuild(generation),
          }
        : null,
  },
  { name: 'load', severity: 'attention', blocks: [], judge: unreachableLoadEnds },
  {
    name: 'tombstones',
    severity: 'bad',
    blocks: switches,
    holds: 'its lag was never longer than Kafka keeps tombstones',
    judge: ({ kafka, now, registry }, own, commands) => {
      const bound = kafka.settings && tombstoneBound(kafka.settings);
      const text = tombstoneWarning(own.generation, own.watermark, bound, now);
      return text === null ? null : { text, remedy: replacement(own, commands, registry?.generations ?? []) };
    },
  },
  { name: 'lag', severity: 'bad', blocks: ['ready'], judge: lagging },
  {
    name: 'state',
    severity: 'progress',
    blocks: every,
    holds: 'it is ready, or was served before',
    judge: (_, own, { cli }) => {
      const { number, state } = own.generation;
      if (state !== 'building' && state !== 'catching-up') return null;
      const then =
        state === 'building'
          ? ` to load, then ${own.recordsAfterLoad} that have come since`
          : ` to apply${heldBy(own)}`;
      return {
        text: `it is ${state}: ${counted(own.lag, 'record')}${then}`,
        remedy: `${cli} rebuild await ${number}`,
      };
    },
  },
  {
    name: 'offsets',
    severity: 'progress',
    blocks: switches,
    waiver: '--accept-older',
    holds: 'it has applied every record that the active generation has applied',
    judge: (_, { generation, isBehind }, { cli }) => {
      const [first] = isPromotable(generation.state) ? isBehind : [];
      return first
        ? {
            text:
              `partition ${first.key}: this generation is at offset ${first.position}, the active one at ` +
              `${first.active} (lagging: ${counted(isBehind.length, 'partition')})`,
            remedy: `${cli} rebuild await ${generation.number}`,
          }
        : null;
    },
  },
  {
    name: 'freshness',
    severity: 'progress',
    blocks: switches,
    waiver: '--accept-older',
    holds: 'its data is as new as that of the active generation',
    judge: staleness,
  },
  {
    name: 'replicas',
    severity: 'attention',
    blocks: switches,
    holds: 'every live API replica can serve it',
    judge: ({ replicas }, { generation: { state, projectionVersion } }) => {
      const unable = replicas.filter(({ versions }) => !versions.includes(projectionVersion));
      const [first] = isPromotable(state) ? unable : [];
      return first
        ? {
            text:
              `${unable.length} of ${counted(replicas.length, 'API replica')} cannot serve projection version ` +
              `${projectionVersion}, among them process ${first.pid} on ${first.host}: deploy the API's new release first`,
          }
        : null;
    },
  },
  {
    name: 'pinned',
    severity: 'progress',
    blocks: ['promote'],
    holds: 'the projectors of the active generation are pinned to its number',
    judge: ({ registry, generations }, { generation: { state } }, { projector }) => {
      const active = registry?.generation ?? 1;
      const isUnpinned = generations.some((one) => one.generation.number === active && one.isUnpinned);
      return isUnpinned && state === 'ready'
        ? {
            text:
              `a projector of generation ${active} runs without GENERATION=${active}: restarted after the promotion, it ` +
              'would leave that generation, and a rollback would be lost; restart it with the number first',
            remedy: projector(active),
          }
        : null;
    },
  },
  {
    name: 'compared',
    severity: 'progress',
    blocks: ['promote'],
    holds: 'it was compared with the active generation, without a difference',
    judge: comparison,
  },
  {
    name: 'next',
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
];
