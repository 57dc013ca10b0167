import { type Kind, kinds, resources } from '../documents/resources.ts';

/** The topic of a kind, such as `support.tickets`. */
export const topicOf = (kind: Kind, prefix: string): string => prefix + resources[kind].topic;

/** The topics of all kinds. */
export const topicsOf = (prefix: string): string[] => kinds.map((kind) => topicOf(kind, prefix));

/** The kind of a topic; null if no topic with this prefix has that name. */
export const kindOfTopic = (topic: string, prefix: string): Kind | null =>
  kinds.find((kind) => topicOf(kind, prefix) === topic) ?? null;

/** The prefixes under which the topics of all kinds exist. */
export const prefixesOf = (topics: Set<string>): string[] =>
  [...topics]
    .filter((topic) => topic.endsWith(resources.ticket.topic))
    .map((topic) => topic.slice(0, -resources.ticket.topic.length))
    .filter((prefix) => kinds.every((kind) => topics.has(topicOf(kind, prefix))));
