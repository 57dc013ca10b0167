import kafkajs, { type Admin, type ConfigEntries } from 'kafkajs';
import { dayMs } from '../documents/instant.ts';
import { counted } from '../runtime/counted.ts';
import { errorMessage } from '../runtime/error-message.ts';
import { batchBytesMax } from './codecs.ts';
import { classify } from './errors.ts';

/** The settings of a topic on which the read model depends. A setting that the brokers do not return is null. */
export type TopicSettings = {
  topic: string;
  cleanupPolicy: string | null;
  deleteRetentionMs: number | null;
  /** -1 without a limit. */
  retentionMs: number | null;
  /** -1 without a limit. */
  retentionBytes: number | null;
  maxMessageBytes: number | null;
  allowsUncleanElection: boolean | null;
  /** The reason why the brokers return no setting of this topic, while they return settings of others. */
  refused?: string;
};

const configNames = [
  'cleanup.policy',
  'delete.retention.ms',
  'retention.ms',
  'retention.bytes',
  'max.message.bytes',
  'unclean.leader.election.enable',
];

/**
 * Reads the settings of topics from the brokers. If the brokers refuse one topic, kafkajs rejects the whole request.
 * Then each topic gets its own request. Rejects only if the brokers refuse every topic.
 */
export async function readTopicSettings(
  admin: Pick<Admin, 'describeConfigs'>,
  topics: string[],
): Promise<TopicSettings[]> {
  if (topics.length === 0) return [];
  try {
    return await readSettings(admin, topics);
  } catch (error) {
    if (classify(error).errorClass !== 'unauthorized' || topics.length === 1) throw error;
    const settings = await Promise.all(topics.map((topic) => tryReadSettings(admin, topic)));
    if (refusedSettings(settings).length === settings.length) throw error;
    return settings;
  }
}

async function readSettings(
  admin: Pick<Admin, 'describeConfigs'>,
  topics: string[],
): Promise<TopicSettings[]> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames })),
  });
  return resources.map(({ resourceName, configEntries }) => settingsOf(resourceName, configEntries));
}

/** The topics whose settings the brokers refuse. */
export const refusedSettings = (settings: TopicSettings[]): TopicSettings[] =>
  settings.filter(({ refused }) => refused !== undefined);

/** Reads the settings of one topic. If the brokers refuse them, returns the reason in place of the values. */
async function tryReadSettings(admin: Pick<Admin, 'describeConfigs'>, topic: string): Promise<TopicSettings> {
  try {
    const [settings] = await readSettings(admin, [topic]);
    return settings ?? settingsOf(topic, []);
  } catch (error) {
    if (classify(error).errorClass !== 'unauthorized') throw error;
    return { ...settingsOf(topic, []), refused: errorMessage(error) };
  }
}

function settingsOf(
  topic: string,
  entries: Pick<ConfigEntries, 'configName' | 'configValue'>[],
): TopicSettings {
  const valueOf = (name: string) =>
    entries.find(({ configName }) => configName === name)?.configValue ?? null;
  const numberOf = (name: string) => {
    const value = valueOf(name);
    return value === null ? null : Number(value);
  };
  const unclean = valueOf('unclean.leader.election.enable');
  return {
    topic,
    cleanupPolicy: valueOf('cleanup.policy'),
    deleteRetentionMs: numberOf('delete.retention.ms'),
    retentionMs: numberOf('retention.ms'),
    retentionBytes: numberOf('retention.bytes'),
    maxMessageBytes: numberOf('max.message.bytes'),
    allowsUncleanElection: unclean === null ? null : unclean === 'true',
  };
}

/**
 * The reasons why the settings of a topic are unsafe:
 *
 * - `not_compacted`, `retention`: Kafka deletes the last record of an entity. A rebuild lacks the entities that have
 *   not changed for long.
 * - `tombstones`: Kafka drops tombstones before a rebuild may end. Deleted entities come back.
 * - `unclean_election`: a new leader may lack records that were applied, and the projectors stop at the gap.
 * - `batch_size`: brokers accept batches that no projector takes.
 * - `unknown`: the brokers refuse the settings, or do not return them.
 */
export type TopicRisk =
  'not_compacted' | 'retention' | 'tombstones' | 'unclean_election' | 'batch_size' | 'unknown';

export type TopicWarning = {
  topic: string;
  risk: TopicRisk;
  text: string;
  /** The setting that helps, `<name>=<value>`; null if no setting helps. */
  setting: string | null;
};

/** The risks with which a topic loses records that every rebuild needs. */
export const losingRisks = ['not_compacted', 'retention', 'unclean_election'] as const satisfies TopicRisk[];

/** How a topic loses records: its log has lost its beginning, or its settings are unsafe. */
export const lossReasons = ['truncated', ...losingRisks] as const;
export type LossReason = (typeof lossReasons)[number];

/** Whether a rebuild with this risk may lack records or bring deleted entities back. */
export const isRebuildRisk = (risk: TopicRisk): boolean => risk === 'unknown' || risk === 'tombstones';

/** Whether retention may delete records that a rebuild needs. An operator may accept this risk. */
export const isRetentionRisk = (risk: TopicRisk): boolean => risk === 'not_compacted' || risk === 'retention';

/** Warns about topics whose settings lose records, or make a rebuild unsafe. */
export const topicWarnings = (settings: TopicSettings[]): TopicWarning[] =>
  settings.flatMap((topicSettings) => {
    const { topic } = topicSettings;
    const checks = [warnOfRetention, warnOfTombstones, warnOfUncleanElection, warnOfBatchSize];
    const warnings = checks.map((check) => check(topicSettings)).filter((warning) => warning !== null);
    return warnings.map((warning) => ({ ...warning, topic, text: `${topic}: ${warning.text}` }));
  });

type FoundRisk = Omit<TopicWarning, 'topic'> | null;

const days = (ms: number) => counted(Number((ms / dayMs).toFixed(2)), 'day');

function warnOfRetention(settings: TopicSettings): FoundRisk {
  const { cleanupPolicy, deleteRetentionMs, retentionMs, retentionBytes, refused } = settings;
  if (refused !== undefined)
    return { risk: 'unknown', text: `the Kafka user needs DescribeConfigs on it: ${refused}`, setting: null };
  if (cleanupPolicy === null || deleteRetentionMs === null)
    return {
      risk: 'unknown',
      text: 'the brokers did not return its cleanup.policy and delete.retention.ms',
      setting: null,
    };
  const policies = cleanupPolicy.split(',').map((policy) => policy.trim());
  const setting = 'cleanup.policy=compact';
  if (!policies.includes('compact'))
    return {
      risk: 'not_compacted',
      text:
        `is not compacted (cleanup.policy=${cleanupPolicy}): a rebuild misses the records that retention has removed; ` +
        `set ${setting}`,
      setting,
    };
  const limits: string[] = [];
  if (retentionMs !== null && retentionMs >= 0)
    limits.push(`after ${days(retentionMs)} (retention.ms=${retentionMs})`);
  if (retentionBytes !== null && retentionBytes >= 0) limits.push(`beyond retention.bytes=${retentionBytes}`);
  if (!policies.includes('delete') || limits.length === 0) return null;
  return {
    risk: 'retention',
    text:
      `deletes records ${limits.join(' and ')}, and also the last one of an entity, because cleanup.policy=${cleanupPolicy}: ` +
      `a rebuild misses the entities that have not changed since; set ${setting}`,
    setting,
  };
}

/** The time that a rebuild may take. The promotion refuses a build that took longer than a topic keeps tombstones. */
const rebuildMs = 3 * dayMs;

function warnOfTombstones({ deleteRetentionMs }: TopicSettings): FoundRisk {
  if (deleteRetentionMs === null || deleteRetentionMs >= rebuildMs) return null;
  return {
    risk: 'tombstones',
    text:
      `drops tombstones after ${days(deleteRetentionMs)} (delete.retention.ms=${deleteRetentionMs}), but a rebuild may ` +
      `take ${days(rebuildMs)} and would keep entities deleted meanwhile; set ` +
      `delete.retention.ms to ${rebuildMs} or more`,
    setting: `delete.retention.ms=${rebuildMs}`,
  };
}

function warnOfUncleanElection({ allowsUncleanElection }: TopicSettings): FoundRisk {
  if (!allowsUncleanElection) return null;
  const setting = 'unclean.leader.election.enable=false';
  return {
    risk: 'unclean_election',
    text:
      'a replica that lacks records may become the leader (unclean.leader.election.enable=true), and those records are lost: ' +
      `projectors that have applied them stop at a gap; set ${setting}`,
    setting,
  };
}

function warnOfBatchSize({ maxMessageBytes }: TopicSettings): FoundRisk {
  if (maxMessageBytes === null || maxMessageBytes <= batchBytesMax) return null;
  const setting = `max.message.bytes=${batchBytesMax}`;
  return {
    risk: 'batch_size',
    text:
      `accepts batches of up to ${maxMessageBytes} bytes (max.message.bytes), but above ${batchBytesMax} bytes their records ` +
      `become dead letters, and a projector needs memory for two such batches; set ${setting}`,
    setting,
  };
}
