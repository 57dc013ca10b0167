import { type Kind, kinds, resources } from '../documents/resources.ts';

/** The topic of a kind, such as `support.tickets`. */
export const topicOf = (kind: Kind, prefix: string): string => prefix + resources[kind].topic;

/** The topics of all kinds. */
export const topicsOf = (prefix: string): string[] => kinds.map((kind) => topicOf(kind, prefix));

/** The kind of a topic; null if no topic with this prefix has that name. */
export const kindOfTopic = (topic: string, prefix: string): Kind | null =>
  kinds.find((kind) => topicOf(kind, prefix) === topic) ?? null;

/**
 * The prefixes under which topics stand. Projectors record progress for every topic that they follow, so a prefix
 * counts if more than half of the kinds have a topic under it. Releases may differ in a few kinds.
 */
export function prefixesOf(topics: string[]): string[] {
  const names = new Set(topics);
  const candidates = new Set(
    topics.flatMap((topic) =>
      kinds.flatMap((kind) => {
        const name = resources[kind].topic;
        return topic.endsWith(name) ? [topic.slice(0, -name.length)] : [];
      }),
    ),
  );
  const countTopics = (prefix: string) => kinds.filter((kind) => names.has(topicOf(kind, prefix))).length;
  return [...candidates].filter((prefix) => countTopics(prefix) > kinds.length / 2).toSorted();
}
