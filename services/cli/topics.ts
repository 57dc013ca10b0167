import type { Admin, ITopicConfig } from 'kafkajs';
import { kinds } from '../../shared/documents/document.ts';
import { dayMs } from '../../shared/documents/retention.ts';
import { deadLetterTopic } from '../projector/dead-letters/collection.ts';
import { topicOf } from '../projector/events/topics.ts';

/**
 * For how long the dead-letter topic keeps its copies, which hold personal data: to be bounded whatever the
 * brokers' own default is. The letters themselves are in the store.
 */
const copiesKeptDays = 7;

/**
 * For how long compaction leaves tombstones in the topics of the bus. A read model that is rebuilt for longer, or
 * a projector that is down for longer, would keep what was deleted meanwhile.
 */
const tombstonesKeptDays = 7;

/**
 * Creates the topics of the bus (compacted) and the dead-letter topic (kept by time) where they are absent.
 * Topics that are there are left as they are. Gives a line for each.
 */
export async function createTopics(admin: Admin, prefix: string, partitions: number): Promise<string> {
  const present = new Set(await admin.listTopics());
  const compacted = kinds.map((kind) => topicOf(kind, prefix));
  const wanted: ITopicConfig[] = [
    ...compacted.map((topic) => ({
      topic,
      numPartitions: partitions,
      configEntries: [
        { name: 'cleanup.policy', value: 'compact' },
        { name: 'delete.retention.ms', value: String(tombstonesKeptDays * dayMs) },
      ],
    })),
    {
      topic: deadLetterTopic(prefix),
      numPartitions: partitions,
      configEntries: [
        { name: 'cleanup.policy', value: 'delete' },
        { name: 'retention.ms', value: String(copiesKeptDays * dayMs) },
      ],
    },
  ];
  const absent = wanted.filter(({ topic }) => !present.has(topic));
  if (absent.length > 0) await admin.createTopics({ topics: absent, waitForLeaders: true });
  return wanted
    .map(
      ({ topic }) =>
        `${topic}: ${present.has(topic) ? 'there already' : `created, ${partitions} partitions`}\n`,
    )
    .join('');
}
