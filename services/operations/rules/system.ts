import { lostRegistryText } from '../../../shared/control/generations.ts';
import { describeLost } from '../../../shared/control/manifest.ts';
import { logsWithoutBeginning } from '../../../shared/control/registry.ts';
import { describeHidden } from '../../../shared/kafka/find-topics.ts';
import type { LogState } from '../../../shared/kafka/log-client.ts';
import { refusedSettings, topicWarnings } from '../../../shared/kafka/topic-settings.ts';
import type { TokenOwners } from '../../../shared/keys/token-keys.ts';
import { andFurther, counted, digits } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import { activeOf, everyStep, type Rule, type RuleFinding, switches } from './rule.ts';

/** A status names at most this many refused tokens, and counts the others. */
const refusedTokensShown = 5;

export const systemRules = {
  registry: {
    severity: 'bad',
    blocks: [],
    evaluate: ({ registry, leftovers }, _, { projector }) => {
      if (registry) return null;
      if (leftovers.length === 0)
        return { text: 'no projector has started on this database', fix: projector(1) };
      return {
        text:
          `${lostRegistryText(leftovers)}. The API answers 503, and no projector starts: restore the control database from a ` +
          'backup, or rebuild into another DATABASE_NAME (docs/recover.md)',
      };
    },
  },
  /** Collections of the control database; each generation has its own. */
  lost: {
    severity: 'bad',
    blocks: everyStep,
    acceptAs: 'lost',
    evaluate: ({ lost }) =>
      lost.length === 0
        ? null
        : `collections of the control database are lost: ${describeLost(lost)}. No projector starts, and the API answers 503 if ` +
          'blocked_keys or generations is among them: restore them from a backup, then accept that (docs/recover.md)',
  },
  'shared-tokens': {
    severity: 'attention',
    blocks: [],
    evaluate: ({ sharedTokens }) => (sharedTokens ? refusedTokenTexts(sharedTokens) : null),
  },
  majority: {
    severity: 'bad',
    blocks: everyStep,
    evaluate: ({ noMajoritySince: since }) =>
      since &&
      `a majority of MongoDB's members has confirmed no write since ${since.toISOString()}, so projectors save nothing and API ` +
        'replicas do not announce themselves; the API serves the data of before. Start members that are down ' +
        '(rs.status()), and let members that lag catch up (rs.printSecondaryReplicationInfo()): a lock for a backup, a full ' +
        'disk or an initial sync may hold them up',
  },
  kafka: {
    severity: 'bad',
    blocks: everyStep,
    evaluate: ({ kafka: { problem } }) =>
      problem && (problem.startsWith('Kafka ') ? problem : `Kafka (KAFKA_BROKERS): ${problem}`),
  },
  settings: {
    severity: 'attention',
    blocks: switches,
    evaluate: ({ kafka: { settings, settingsProblem } }) => {
      if (settingsProblem !== null)
        return `cannot read the configuration of the topics; the Kafka user needs DescribeConfigs: ${settingsProblem}`;
      const refused = topicWarnings(refusedSettings(settings ?? []));
      return refused.map(({ text }) => `cannot read the configuration of ${text}`);
    },
  },
  leaders: { severity: 'bad', blocks: [], evaluate: ({ kafka: { log } }) => log && leaderlessText(log) },
  brokers: {
    severity: 'attention',
    blocks: [],
    evaluate: ({ kafka: { log } }) =>
      (log?.unreachable ?? []).map(
        ({ broker, error }) => `broker ${broker} does not answer: ${errorMessage(error)}`,
      ),
  },
  api: {
    severity: 'bad',
    blocks: [],
    evaluate: ({ replicas }) => (replicas.length === 0 ? 'no API replica is live' : null),
  },
  missing: {
    severity: 'attention',
    blocks: [],
    evaluate: (facts, _, commands) => missingTopicFindings(facts, commands),
  },
  hidden: {
    severity: 'attention',
    blocks: everyStep,
    evaluate: ({ kafka: { hidden, otherPrefixes } }) =>
      hidden.length > 0 && otherPrefixes.length === 0
        ? `${describeHidden(hidden)}. Until then nothing is known of their logs`
        : null,
  },
  topics: {
    severity: 'attention',
    blocks: [],
    evaluate: ({ kafka: { settings } }) => {
      const readable = (settings ?? []).filter(({ refused }) => refused === undefined);
      return topicWarnings(readable).map(({ topic, text, setting }) => ({
        text: `${text} (docs/deploy.md, "Topics")`,
        fix: setting && alterTopic(topic, setting),
      }));
    },
  },
  'log-beginnings': {
    severity: 'attention',
    blocks: [],
    acceptAs: 'truncated',
    evaluate: lostBeginningsText,
  },
  'dead-letters': {
    severity: 'attention',
    blocks: [],
    evaluate: ({ deadLetters }, _, { cli }) =>
      deadLetters === null || deadLetters === 0
        ? null
        : { text: `dead letters: ${digits(deadLetters)}`, fix: `${cli} dead-letters list` },
  },
  'dead-letter-bytes': { severity: 'attention', blocks: [], evaluate: fullShareFinding },
} satisfies Record<string, Rule<null>>;

/** The command of Kafka that changes a setting of a topic. */
const alterTopic = (topic: string, setting: string): string =>
  `kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name ${topic} --add-config ${setting}`;

/**
 * Names the logs whose first records are gone. If the active generation had not applied these records, its gap is
 * reported instead.
 */
function lostBeginningsText(facts: Facts): string | null {
  const active = activeOf(facts);
  if (!active || active.gaps.length > 0) return null;
  const ends = facts.kafka.log?.ends ?? new Map();
  const [first, ...others] = logsWithoutBeginning(active.generation, ends);
  if (!first) return null;
  const more = andFurther(others.length, 'partition');
  const accepted = first.beginning === 0 ? '' : ', as was accepted';
  return (
    `the log of ${first.key} begins at offset ${first.low}, not ${first.beginning}${accepted}${more}: retention or an operator has deleted ` +
    'records that a rebuild needs. Keep the read model, let the source system publish the entities again, then accept this, and ' +
    'rebuild (docs/gaps.md, "A log without its beginning")'
  );
}

/** Names the keys of the first tokens, but no token and no hash, which are secrets. */
function refusedTokenTexts(tokens: TokenOwners[]): string[] {
  const named = tokens.slice(0, refusedTokensShown).map(({ candidates, hasMore, isBlocked }) => {
    const shown = candidates.map(({ id, orgId, state }) => `${id} of ${orgId} (${state})`);
    const more = hasMore ? ' and further keys' : '';
    const block = isBlocked ? ', and "keys block" has blocked it' : '';
    return (
      `a token is refused: it belongs to ${shown.join(', ')}${more}${block}. Archive these keys in the source ` +
      'system, and create keys with tokens of their own for their users (docs/keys.md, "A token of several keys")'
    );
  });
  const others = tokens.length - named.length;
  return others > 0 ? [...named, `${counted(others, 'further token')} of several keys are refused`] : named;
}

/** A share counts as full from this fraction on, because the next large record may no longer fit. */
const fullShareFrom = 0.95;

function fullShareFinding(
  { deadLetterBytesFilled: filled }: Facts,
  _: null,
  { cli }: Commands,
): RuleFinding | null {
  if (filled === null || filled < fullShareFrom) return null;
  return {
    text:
      'the bytes of the dead letters of a topic take its share of DEAD_LETTER_MEGABYTES_MAX, so further ones are stored ' +
      'without their bytes, and a redrive works only while Kafka still has the record: fix the cause, then redrive or ' +
      'purge them',
    fix: `${cli} dead-letters list`,
  };
}

/** Names the partitions whose log cannot be read; null if every leader answers. */
export function leaderlessText({ partitions, ends }: Pick<LogState, 'partitions' | 'ends'>): string | null {
  const [first, ...others] = partitions.filter((key) => !ends.has(key)).toSorted();
  if (!first) return null;
  const more = others.length > 0 ? ` (${others.length + 1} partitions have none)` : '';
  return `${first}: its log cannot be read, because no leader answers, or it reports an error${more}`;
}

/**
 * Reports the missing topics. An operator creates a missing topic, unless its records were applied, because an empty
 * topic in its place, and every rebuild from it, would lack these records.
 */
function missingTopicFindings({ kafka, generations }: Facts, { cli }: Commands): (RuleFinding | string)[] {
  const { missing, otherPrefixes } = kafka;
  if (otherPrefixes.length > 0)
    return [
      `TOPIC_PREFIX: this Kafka user sees no topic that has it; topics exist with ${otherPrefixes.join(', ')}`,
    ];
  const missingFindings: RuleFinding[] = [];
  const partitions = generations.flatMap((generationFacts) => generationFacts.partitions);
  const appliedTopics = new Set(partitions.filter(({ applied }) => applied > 0).map(({ topic }) => topic));
  const lost = missing.filter((topic) => appliedTopics.has(topic));
  if (lost.length > 0)
    missingFindings.push({
      text:
        `topics are gone, and their applied records with them: ${lost.join(', ')}. Do not create them again: restore them ` +
        'from a backup of Kafka',
      severity: 'bad',
      blocks: everyStep,
    });
  const neverApplied = missing.filter((topic) => !appliedTopics.has(topic));
  if (neverApplied.length > 0)
    missingFindings.push({ text: `missing topics: ${neverApplied.join(', ')}`, fix: `${cli} topics create` });
  return missingFindings;
}
