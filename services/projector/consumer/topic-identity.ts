import type { Db } from 'mongodb';
import { topicIdsOf } from '../../../shared/store/generations.ts';

/**
 * Remembers, for a generation, the ids of the topics that it applies, and gives those remembered. One is remembered
 * for good as soon as a record of the topic was applied: a topic of the same name with another id was created
 * after the first one was deleted, and its offsets mean other records. `applied` holds positions by
 * `<topic>/<partition>`.
 *
 * An id settles what a remembered record could not, as compaction may remove any record.
 */
export async function rememberTopicIds(
  { control, generation }: { control: Db; generation: number },
  topicIds: Map<string, string>,
  applied: Map<string, number>,
): Promise<Map<string, string>> {
  const begun = new Set(
    [...applied].flatMap(([key, position]) => (position > 0 ? [key.slice(0, key.lastIndexOf('/'))] : [])),
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
