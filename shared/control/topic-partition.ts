export type TopicPartition = { topic: string; partition: number };

/** The key of a partition in maps and metrics: `<topic>/<partition>`. */
export const partitionKey = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;

/** The partition that a key names. Topic names contain no slash. */
export function parsePartitionKey(key: string): TopicPartition {
  const slash = key.lastIndexOf('/');
  return { topic: key.slice(0, slash), partition: Number(key.slice(slash + 1)) };
}
