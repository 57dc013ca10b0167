import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { anyId, prefixedId } from '../../../shared/documents/fields.ts';

/**
 * The Kafka topic of each kind: its name after the prefix, and the prefix of its ids ('' = any id). The kind also
 * stands in the event type, `support.<kind>.created.v1`.
 */
export const topics: { [K in Kind]: { name: string; idPrefix: string } } = {
  apiKey: { name: 'api-keys', idPrefix: 'key_' },
  contact: { name: 'contacts', idPrefix: 'con_' },
  user: { name: 'users', idPrefix: 'user_' },
  agent: { name: 'agents', idPrefix: 'agent_' },
  tag: { name: 'tags', idPrefix: '' },
  topic: { name: 'topics', idPrefix: '' },
  channel: { name: 'channels', idPrefix: '' },
  ticket: { name: 'tickets', idPrefix: 'ti_' },
  conversation: { name: 'conversations', idPrefix: 'conv_' },
  message: { name: 'messages', idPrefix: 'msg_' },
  qa: { name: 'knowledge-qas', idPrefix: '' },
};

/** The topic of a kind, such as `support.tickets`. */
export const topicOf = (kind: Kind, prefix: string): string => prefix + topics[kind].name;

/** The kind of a topic; null if it is not one of the eleven topics with this prefix. */
export const kindOfTopic = (topic: string, prefix: string): Kind | null =>
  kinds.find((kind) => topicOf(kind, prefix) === topic) ?? null;

/** The zod schema of the ids of a kind. */
export const idSchema = (kind: Kind) => {
  const { idPrefix } = topics[kind];
  return idPrefix ? prefixedId(idPrefix) : anyId;
};
