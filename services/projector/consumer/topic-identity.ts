import type { Db } from 'mongodb';
import { topicIdsOf } from '../../../shared/store/progress.ts';
import { parsePartitionKey } from '../kafka/topic-partition.ts';

/**
 * Stores the ids of the topics that a generation applies, and returns all stored ids by topic. Once a record of a
 * topic was applied, its stored id never changes: a topic of the same name with another id was created after the first
 * was deleted, so its offsets mean other records. `applied` holds positions by `<topic>/<partition>`.
 *
 * Only the id can tell: a remembered record could not, as compaction may remove any record.
 */
export async function rememberTopicIds(
  { control, generation }: { control: Db; generation: number },
  topicIds: Map<string, string>,
  applied: Map<string, number>,
): Promise<Map<string, string>> {
  const begun = new Set(
    [...applied].flatMap(([key, position]) => (position > 0 ? [parsePartitionKey(key).topic] : [])),
  );
  const operations = [...topicIds].map(([topic, topicId]) => {
    const identity = { generation, topic, topicId };
    const update = begun.has(topic) ? { $setOnInsert: identity } : { $set: identity };
    return { updateOne: { filter: { _id: `${generation}/${topic}` }, update, upsert: true } };
  });
  if (operations.length > 0) await topicIdsOf(control).bulkWrite(operations, { ordered: false });
  const remembered = await topicIdsOf(control).find({ generation }).toArray();
  return new Map(remembered.map(({ topic, topicId }) => [topic, topicId]));
}
