import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, ITopicConfig } from 'kafkajs';
import { kinds } from '../../shared/documents/document.ts';
import { dayMs } from '../../shared/documents/retention.ts';
import { endOffsets } from '../projector/consumer/progress.ts';
import { deadLetterTopic } from '../projector/dead-letters/collection.ts';
import { topicOf } from '../projector/events/topics.ts';
import { errorChain } from '../projector/runtime/transient-errors.ts';

/**
 * Retention of the dead-letter topic. Its copies hold personal data, so it must not depend on the brokers' default.
 * The dead letters themselves are in the store.
 */
const copiesKeptDays = 7;

/**
 * The time for which compaction keeps tombstones. If a rebuild takes longer, or a projector is down for longer, the
 * read model keeps entities that were deleted meanwhile.
 */
const tombstonesKeptDays = 7;

/**
 * Creates the entity topics (compacted) and the dead-letter topic (with a retention time) that do not exist yet, and
 * waits until they can be used. Does not change existing topics. Returns one line for each topic.
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
  if (absent.length > 0) {
    // kafkajs's own wait for leaders fails where a broker does not know a topic yet.
    await admin.createTopics({ topics: absent, waitForLeaders: false });
    await untilLed(
      admin,
      absent.map(({ topic }) => topic),
    );
  }
  return wanted
    .map(
      ({ topic }) =>
        `${topic}: ${present.has(topic) ? 'already exists, left unchanged' : `created, ${partitions} partitions`}\n`,
    )
    .join('');
}

/** How long brokers may take to know new topics and to lead their partitions, in milliseconds. */
const ledWithinMs = 30_000;

/** Resolves once each partition has a leader that knows it. Rejects with the last error of the brokers after 30 seconds. */
export async function untilLed(admin: Pick<Admin, 'fetchTopicOffsets'>, topics: string[]): Promise<void> {
  const deadline = performance.now() + ledWithinMs;
  for (;;) {
    try {
      await endOffsets(admin, topics);
      return;
    } catch (error) {
      const mayPass = errorChain(error).some((cause) => 'retriable' in cause && cause.retriable === true);
      if (!mayPass || performance.now() > deadline) throw error;
      await sleep(100);
    }
  }
}
