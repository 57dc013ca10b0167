import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { anyId, prefixedId } from '../../../shared/documents/fields.ts';

/**
 * The topics of the bus: the name behind the prefix, and what the ids in it start with ('' = any id). A kind
 * is also the entity's word in the event type, `support.<kind>.created.v1`.
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

/** The topic that carries a kind, such as `support.tickets`. */
export const topicOf = (kind: Kind, prefix: string): string => prefix + topics[kind].name;

/** The kind that a topic carries; null for a topic that is not one of the eleven under this prefix. */
export const kindOfTopic = (topic: string, prefix: string): Kind | null =>
  kinds.find((kind) => topicOf(kind, prefix) === topic) ?? null;

/** The rule for the ids of a kind, as zod checks it. */
export const idOf = (kind: Kind) => {
  const { idPrefix } = topics[kind];
  return idPrefix ? prefixedId(idPrefix) : anyId;
};
