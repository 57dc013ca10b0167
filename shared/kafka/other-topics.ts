import type { Progress } from '../control/progress.ts';
import { partitionKey } from '../control/topic-partition.ts';
import { kinds, resources } from '../documents/resources.ts';
import { topicOf, topicsOf } from './topics.ts';

/** The recorded progress of one partition. */
type Recorded = Pick<Progress, 'topic' | 'partition' | 'applied'>;

/**
 * The prefixes under which a generation has followed topics. Projectors record progress for every topic that they
 * follow, so most kinds have a topic under such a prefix. A topic whose kind only another release knows does not make a
 * prefix.
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

/** The topics that a generation has followed; null before its first progress. */
export function followedTopics(recorded: Recorded[]): string[] | null {
  const topics = followedPrefixes(recorded).flatMap(topicsOf);
  return topics.length === 0 ? null : topics;
}

/** The partitions of other prefixes of which a generation has applied records, as `<topic>/<partition>`. */
export function otherPartitions(recorded: Recorded[], topics: string[]): string[] {
  const others = new Set(followedPrefixes(recorded).flatMap(topicsOf));
  for (const topic of topics) others.delete(topic);
  return recorded
    .filter(({ topic, applied }) => applied.position > 0 && others.has(topic))
    .map(partitionKey)
    .toSorted();
}

/** Why a generation cannot follow these topics, in words: it has applied records of others. Null if it can. */
export function describeOtherTopics(recorded: Recorded[], topics: string[]): string | null {
  const [first] = otherPartitions(recorded, topics);
  if (first === undefined) return null;
  const followed = followedPrefixes(recorded).map((prefix) => `${prefix}*`);
  const given = followedPrefixes(topics.map((topic) => ({ topic })));
  return (
    `it has applied records of ${followed.join(' and ')}, such as those of ${first}, but TOPIC_PREFIX names ` +
    `${given.join()}*. Set the TOPIC_PREFIX that it has followed, or build another generation of the other topics ` +
    '(docs/rebuilding.md, On other topics)'
  );
}
