import type { Progress } from '../control/progress.ts';
import { partitionKey } from '../control/topic-partition.ts';
import { prefixesOf, topicsOf } from './topics.ts';

/** The recorded progress of one partition. */
type Recorded = Pick<Progress, 'topic' | 'partition' | 'applied'>;

const topicNames = (recorded: Recorded[]): string[] => recorded.map(({ topic }) => topic);

/** The partitions of other prefixes of which a generation has applied records, as `<topic>/<partition>`. */
export function otherPartitions(recorded: Recorded[], topics: string[]): string[] {
  const otherTopics = new Set(prefixesOf(topicNames(recorded)).flatMap(topicsOf));
  for (const topic of topics) otherTopics.delete(topic);
  return recorded
    .filter(({ topic, applied }) => applied.position > 0 && otherTopics.has(topic))
    .map(partitionKey)
    .toSorted();
}

/** Describes the other topics that a generation has applied, so that it cannot follow these. Null if there are none. */
export function describeOtherTopics(recorded: Recorded[], topics: string[]): string | null {
  const [first] = otherPartitions(recorded, topics);
  if (first === undefined) return null;
  const followed = prefixesOf(topicNames(recorded)).map((prefix) => `${prefix}*`);
  const configured = prefixesOf(topics);
  return (
    `it has applied records of ${followed.join(' and ')}, such as those of ${first}, but TOPIC_PREFIX names ` +
    `${configured.join()}*. Set the TOPIC_PREFIX that it has followed, or build another generation of the other topics ` +
    '(docs/rebuilding.md, On other topics)'
  );
}
