import kafkajs, { type Admin } from 'kafkajs';
import { dayMs } from '../documents/instant.ts';
import { counted } from '../runtime/counted.ts';

/** The settings of a topic that a rebuild depends on; null if the brokers do not return them. */
export type TopicSettings = { topic: string; cleanupPolicy: string | null; deleteRetentionMs: number | null };

/** Reads the settings from the brokers. */
export async function readTopicSettings(admin: Admin, topics: string[]): Promise<TopicSettings[]> {
  if (topics.length === 0) return [];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      configNames: ['cleanup.policy', 'delete.retention.ms'],
    })),
  });
  return resources.map(({ resourceName, configEntries }) => {
    const valueOf = (name: string) =>
      configEntries.find(({ configName }) => configName === name)?.configValue ?? null;
    const retention = valueOf('delete.retention.ms');
    return {
      topic: resourceName,
      cleanupPolicy: valueOf('cleanup.policy'),
      deleteRetentionMs: retention === null ? null : Number(retention),
    };
  });
}

/** `losesRecords`: the topic may already lack records that a rebuild needs. */
type TopicWarning = { text: string; losesRecords: boolean };

/**
 * Warns about topics whose settings make a rebuild unsafe. A topic without compaction loses entities that have not
 * changed for long. A topic that drops tombstones before a rebuild ends lets deleted entities come back.
 */
export function topicWarnings(settings: TopicSettings[], rebuildDaysMax: number): TopicWarning[] {
  const days = (ms: number) => counted(Number((ms / dayMs).toFixed(2)), 'day');
  return settings.flatMap(({ topic, cleanupPolicy, deleteRetentionMs }) => {
    const warning = (text: string, losesRecords = false) => [{ text: `${topic}: ${text}`, losesRecords }];
    if (cleanupPolicy === null || deleteRetentionMs === null)
      return warning('the brokers did not return its cleanup.policy and delete.retention.ms');
    if (!cleanupPolicy.split(',').some((policy) => policy.trim() === 'compact'))
      return warning(
        `is not compacted (cleanup.policy=${cleanupPolicy}): a rebuild misses the records that retention has removed; ` +
          'set cleanup.policy=compact',
        true,
      );
    if (deleteRetentionMs < rebuildDaysMax * dayMs)
      return warning(
        `drops tombstones after ${days(deleteRetentionMs)} (delete.retention.ms=${deleteRetentionMs}), but a rebuild may ` +
          `take ${counted(rebuildDaysMax, 'day')} (REBUILD_DAYS_MAX) and would keep entities deleted meanwhile; set ` +
          `delete.retention.ms to ${rebuildDaysMax * dayMs} or more`,
      );
    return [];
  });
}
