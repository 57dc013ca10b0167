import { kindOfTopic, topicOf } from '../../shared/kafka/topics.ts';
import { prerequisites } from './materialize/edges.ts';

/** The topics whose entities the documents of a topic refer to. */
export function prerequisiteTopics(topic: string, prefix: string): string[] {
  const kind = kindOfTopic(topic, prefix);
  return kind ? prerequisites(kind).map((prerequisite) => topicOf(prerequisite, prefix)) : [];
}
