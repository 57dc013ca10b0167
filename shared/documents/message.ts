import { z } from 'zod';
import { type Document, type Entity, refsIndex, tombstoneIndex } from './entity.ts';
import {
  anyId,
  exampleInstant,
  instant,
  listOf,
  name,
  optional,
  prefixedId,
  refersTo,
  text,
} from './fields.ts';
import { sortKey } from './instant.ts';

export const messageTypes = ['chat', 'email'] as const;
export const messageRoles = ['user', 'assistant', 'human', 'system'] as const;

const author = z.discriminatedUnion('type', [
  z.object({ type: z.literal('contact'), id: prefixedId('con_') }),
  z.object({ type: z.literal('user'), id: prefixedId('user_') }),
  z.object({ type: z.literal('ai_agent'), id: prefixedId('agent_') }),
]);

const messageState = z
  .object({
    id: prefixedId('msg_'),
    conversationId: refersTo('conversation', prefixedId('conv_')),
    type: z.enum(messageTypes),
    role: z.enum(messageRoles),
    author: optional(author),
    content: optional(text),
    attachments: listOf(z.object({ id: anyId, filename: name, inline: z.boolean() })),
    createdAt: instant,
    sentAt: optional(instant),
  })
  // A system message has no author, even if the record names one.
  .transform((message) => (message.role === 'system' ? { ...message, author: null } : message));

const example: z.input<typeof messageState> = {
  id: 'msg_1',
  conversationId: 'conv_1',
  type: 'email',
  role: 'user',
  author: { type: 'contact', id: 'con_1' },
  content: 'Hello',
  attachments: [],
  createdAt: exampleInstant,
};

export type Message = z.output<typeof messageState>;

export type MessageJoined = {
  /** Null while the author is missing. `email` is always null for an AI agent. */
  author: { name: string | null; email: string | null } | null;
};

export type MessageDocument = Document<Message, MessageJoined>;

export const message = {
  topic: 'messages',
  idPrefix: 'msg_',
  state: messageState,
  example,
  collection: 'messages',
  indexes: [
    { name: 'thread', key: { 'state.conversationId': 1, orgId: 1, byCreated: 1 } },
    { name: 'orphaned', key: { orphanedAt: 1 }, partialFilterExpression: { orphanedAt: { $exists: true } } },
    refsIndex,
    tombstoneIndex,
  ],
  sortKeys: ({ id, createdAt }: Message) => ({ byCreated: sortKey(createdAt, id) }),
} as const satisfies Entity<Message>;
