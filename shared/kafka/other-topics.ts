import type { Progress } from '../control/progress.ts';
import { partitionKey } from '../control/topic-partition.ts';
import { kinds, resources } from '../documents/resources.ts';
import { topicOf, topicsOf } from './topics.ts';

/** The recorded progress of one partition. */
type Recorded = Pick<Progress, 'topic' | 'partition' | 'applied'>;

/**
 * The prefixes under which a generation has followed topics. Projectors record progress for every topic that they
 * follow, so a prefix counts if more than half of the kinds have a topic under it. Releases may differ in a few kinds.
 */
export function followedPrefixes(recorded: Pick<Recorded, 'topic'>[]): string[] {
  const topics = new Set(recorded.map(({ topic }) => topic));
  const candidates = new Set(
    [...topics].flatMap((topic) =>
      kinds.flatMap((kind) => {
        const name = resources[kind].topic;
        return topic.endsWith(name) ? [topic.slice(0, -name.length)] : [];
      }),
    ),
  );
  const isFollowed = (prefix: string) =>
    kinds.filter((kind) => topics.has(topicOf(kind, prefix))).length > kinds.length / 2;
  return [...candidates].filter(isFollowed).toSorted();
}

/** The partitions of other prefixes of which a generation has applied records, as `<topic>/<partition>`. */
export function otherPartitions(recorded: Recorded[], topics: string[]): string[] {
  const otherTopics = new Set(followedPrefixes(recorded).flatMap(topicsOf));
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
  const followed = followedPrefixes(recorded).map((prefix) => `${prefix}*`);
  const configured = followedPrefixes(topics.map((topic) => ({ topic })));
  return (
    `it has applied records of ${followed.join(' and ')}, such as those of ${first}, but TOPIC_PREFIX names ` +
    `${configured.join()}*. Set the TOPIC_PREFIX that it has followed, or build another generation of the other topics ` +
    '(docs/rebuilding.md, On other topics)'
  );
}
