import type { Db } from 'mongodb';
import { progressOf, topicIdsOf } from '../../../shared/store/progress.ts';

/**
 * The topics that were deleted and created again since a generation applied records of them. Their offsets mean other
 * records, so the generation can never continue. `topicIds` are the ids of the topics now; a topic that Kafka before 2.8
 * created has none, and is not found.
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
