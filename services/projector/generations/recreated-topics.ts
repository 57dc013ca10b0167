import type { Db } from 'mongodb';
import { progressOf, topicIdsOf } from '../../../shared/store/progress.ts';

/**
 * The topics that were deleted and created again since a generation applied records of them. Their offsets mean other
 * records, so the generation can never continue. `topicIds` are the ids of the topics now; brokers before Kafka 2.8 have
 * none, and then no topic is found.
 */
export async function recreatedTopics(
  control: Db,
  generation: number,
  topicIds: ReadonlyMap<string, string>,
): Promise<string[]> {
  const [applied, begun] = await Promise.all([
    topicIdsOf(control).find({ generation }).toArray(),
    progressOf(control).distinct('topic', { generation, position: { $gt: 0 } }),
  ]);
  return applied
    .filter(({ topic, topicId }) => begun.includes(topic) && (topicIds.get(topic) ?? topicId) !== topicId)
    .map(({ topic }) => topic)
    .toSorted();
}
