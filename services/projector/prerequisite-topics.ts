import { kindOfTopic, topicOf } from '../../shared/kafka/topics.ts';
import { prerequisiteKinds } from './materialize/edges.ts';

/** The topics whose entities the documents of a topic refer to. */
export function prerequisiteTopics(topic: string, prefix: string): string[] {
  const kind = kindOfTopic(topic, prefix);
  return kind ? prerequisiteKinds(kind).map((prerequisite) => topicOf(prerequisite, prefix)) : [];
}
