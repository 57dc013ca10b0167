import { digits } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { topicWarnings } from '../../projector/kafka/topic-settings.ts';
import { deadLettersMax } from '../facts.ts';
import { everyStep, switches, type Rule } from './rule.ts';

/** The rules for the whole system. */
export const systemRules = {
  registry: {
    severity: 'bad',
    blocks: [],
    judge: ({ registry }, _, { projector }) =>
      registry ? null : { text: 'no projector has started on this database', remedy: projector(1) },
  },
  kafka: {
    severity: 'bad',
    blocks: everyStep,
    judge: ({ kafka }) =>
      kafka.problem
        ? { text: /^Kafka /.test(kafka.problem) ? kafka.problem : `Kafka (KAFKA_BROKERS): ${kafka.problem}` }
        : null,
  },
  settings: {
    severity: 'attention',
    blocks: switches,
    judge: ({ kafka: { settingsProblem } }) =>
      settingsProblem === null
        ? null
        : {
            text: `cannot read the configuration of the topics; the Kafka user needs DescribeConfigs: ${settingsProblem}`,
          },
  },
  leaders: {
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
  brokers: {
    severity: 'attention',
    blocks: [],
    judge: ({ kafka: { log } }) =>
      (log?.unreachable ?? []).map(({ broker, error }) => ({
        text: `broker ${broker} does not answer: ${errorMessage(error)}`,
      })),
  },
  api: {
    severity: 'bad',
    blocks: [],
    judge: ({ replicas }) => (replicas.length === 0 ? { text: 'no API replica is live' } : null),
  },
  topics: {
    severity: 'attention',
    blocks: [],
    judge: ({ kafka: { settings, missing }, rebuildDaysMax }, _, { cli }) => [
      ...(missing.length > 0
        ? [{ text: `missing topics: ${missing.join(', ')}`, remedy: `${cli} topics create` }]
        : []),
      ...topicWarnings(settings ?? [], rebuildDaysMax).map(({ text }) => ({ text })),
    ],
  },
  'dead-letters': {
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
} satisfies Record<string, Rule<null>>;
