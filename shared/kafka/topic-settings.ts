import kafkajs, { type Admin, type ConfigEntries } from 'kafkajs';
import { dayMs } from '../documents/instant.ts';
import { counted } from '../runtime/counted.ts';
import { errorMessage } from '../runtime/error-message.ts';
import { batchBytesMax } from './codecs.ts';
import { classify } from './errors.ts';

/** The settings of a topic that the read model depends on; null each that the brokers do not return. */
export type TopicSettings = {
  topic: string;
  cleanupPolicy: string | null;
  deleteRetentionMs: number | null;
  /** -1 for no limit, as `retentionBytes`. */
  retentionMs: number | null;
  retentionBytes: number | null;
  maxMessageBytes: number | null;
  allowsUncleanElection: boolean | null;
  /** Why the brokers return no setting of this topic, while they return settings of others. */
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
 * Reads the settings from the brokers. kafkajs rejects a whole request if the brokers refuse one of its topics, so each
 * topic then has a request of its own. Rejects only if the brokers refuse every topic.
 */
export async function readTopicSettings(
  admin: Pick<Admin, 'describeConfigs'>,
  topics: string[],
): Promise<TopicSettings[]> {
  if (topics.length === 0) return [];
  try {
    return await describe(admin, topics);
  } catch (error) {
    if (classify(error).is !== 'refuses-us' || topics.length === 1) throw error;
    const read = await Promise.all(topics.map((topic) => describeOne(admin, topic)));
    if (refusedOf(read).length === read.length) throw error;
    return read;
  }
}

async function describe(admin: Pick<Admin, 'describeConfigs'>, topics: string[]): Promise<TopicSettings[]> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames })),
  });
  return resources.map(({ resourceName, configEntries }) => settingsOf(resourceName, configEntries));
}

/** The topics whose settings the brokers refuse. */
export const refusedOf = (settings: TopicSettings[]): TopicSettings[] =>
  settings.filter(({ refused }) => refused !== undefined);

/** The settings of one topic, also if the brokers refuse them. */
async function describeOne(admin: Pick<Admin, 'describeConfigs'>, topic: string): Promise<TopicSettings> {
  try {
    const [settings] = await describe(admin, [topic]);
    return settings ?? settingsOf(topic, []);
  } catch (error) {
    if (classify(error).is !== 'refuses-us') throw error;
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
 * Why the settings of a topic are unsafe:
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

/** The risks of records that are lost for every rebuild. */
export const losingRisks = ['not_compacted', 'retention', 'unclean_election'] as const satisfies TopicRisk[];

/** How a topic loses records: its log has lost its beginning, or its settings are unsafe. */
export const lossReasons = ['truncated', ...losingRisks] as const;
export type LossReason = (typeof lossReasons)[number];

/** The risks with which no rebuild can be relied on. */
export const isRebuildRisk = (risk: TopicRisk): boolean => risk === 'unknown' || risk === 'tombstones';

/** The risks that retention deletes records which a rebuild needs. An operator may accept them. */
export const isRetentionRisk = (risk: TopicRisk): boolean => risk === 'not_compacted' || risk === 'retention';

/** Warns about topics whose settings lose records, or make a rebuild unsafe. */
export const topicWarnings = (settings: TopicSettings[]): TopicWarning[] =>
  settings.flatMap((one) =>
    [retention(one), tombstones(one), uncleanElection(one), batchSize(one)].flatMap((found) =>
      found ? [{ ...found, topic: one.topic, text: `${one.topic}: ${found.text}` }] : [],
    ),
  );

type Found = Omit<TopicWarning, 'topic'> | null;

const days = (ms: number) => counted(Number((ms / dayMs).toFixed(2)), 'day');

function retention(settings: TopicSettings): Found {
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
  const limits = [
    ...((retentionMs ?? -1) >= 0 ? [`after ${days(retentionMs ?? 0)} (retention.ms=${retentionMs})`] : []),
    ...((retentionBytes ?? -1) >= 0 ? [`beyond retention.bytes=${retentionBytes}`] : []),
  ];
  if (!policies.includes('delete') || limits.length === 0) return null;
  return {
    risk: 'retention',
    text:
      `deletes records ${limits.join(' and ')}, and also the last one of an entity, because cleanup.policy=${cleanupPolicy}: ` +
      `a rebuild misses the entities that have not changed since; set ${setting}`,
    setting,
  };
}

/** A rebuild may take this long. The promotion refuses a build that takes longer than a topic keeps tombstones. */
const rebuildMs = 3 * dayMs;

function tombstones({ deleteRetentionMs }: TopicSettings): Found {
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

function uncleanElection({ allowsUncleanElection }: TopicSettings): Found {
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

function batchSize({ maxMessageBytes }: TopicSettings): Found {
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
