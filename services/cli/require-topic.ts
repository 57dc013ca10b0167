import { kinds } from '../../shared/documents/document.ts';
import { topicOf } from '../projector/events/topics.ts';
import { UsageError } from './context.ts';

/** Only the settings tell which topics exist. Throws a `UsageError` about `option` for any other topic. */
export function requireTopic(option: string, topic: string | undefined, prefix: string): void {
  const topics = kinds.map((kind) => topicOf(kind, prefix));
  if (topic !== undefined && !topics.includes(topic))
    throw new UsageError(`${option}: unknown topic ${topic}; use one of ${topics.join(', ')}`);
}
