import kafkajs, { type Admin } from 'kafkajs';
import { dayMs } from '../../../shared/documents/retention.ts';

/** What is read of a topic's configuration; null where the brokers do not say. */
export type TopicSettings = { topic: string; cleanupPolicy: string | null; deleteRetentionMs: number | null };

/** The settings of the topics that a rebuild depends on. */
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

/**
 * Warns of topics that a rebuild cannot rely on: one that is not compacted loses entities that did not change for
 * long, and one that drops tombstones sooner than a rebuild may take lets deleted entities come back.
 */
export function topicWarnings(settings: TopicSettings[], rebuildDaysMax: number): string[] {
  const days = (ms: number) => `${Number((ms / dayMs).toFixed(2))} days`;
  return settings.flatMap(({ topic, cleanupPolicy, deleteRetentionMs }) => {
    if (cleanupPolicy === null || deleteRetentionMs === null)
      return [`${topic}: the brokers do not tell its cleanup.policy and delete.retention.ms`];
    if (!cleanupPolicy.split(',').some((policy) => policy.trim() === 'compact'))
      return [
        `${topic}: is not compacted (cleanup.policy=${cleanupPolicy}): a rebuild misses what retention has ` +
          'removed; set cleanup.policy=compact',
      ];
    if (deleteRetentionMs < rebuildDaysMax * dayMs)
      return [
        `${topic}: drops tombstones after ${days(deleteRetentionMs)} (delete.retention.ms=${deleteRetentionMs}), ` +
          `but a rebuild may take ${rebuildDaysMax} days (REBUILD_DAYS_MAX) and would keep what was deleted ` +
          `meanwhile; set delete.retention.ms to ${rebuildDaysMax * dayMs} or more`,
      ];
    return [];
  });
}
