import { z } from 'zod';
import { tombstoneIndex, type Resource } from './document.ts';
import { anyId, name, optional, prefixedId, shortText } from './fields.ts';

/**
 * The entities that documents refer to and that are not served themselves: people, AI agents, labels.
 */
export const contactState = z.object({
  id: prefixedId('con_'),
  name: optional(name),
  email: optional(z.object({ email: shortText, verified: z.boolean() })),
});
export const userState = z.object({ id: prefixedId('user_'), name: optional(name), email: shortText });
export const agentState = z.object({ id: prefixedId('agent_'), name, disabled: z.boolean() });
export const tagState = z.object({ id: anyId, name });
export const topicState = z.object({
  id: anyId,
  name,
  color: optional(z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be #rrggbb')),
});

export type Contact = z.output<typeof contactState>;
export type User = z.output<typeof userState>;
export type Agent = z.output<typeof agentState>;
export type Tag = z.output<typeof tagState>;
export type Topic = z.output<typeof topicState>;

const reference = <EntityState>(collection: string): Resource<EntityState> => ({
  collection,
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
});

export const contactResource = reference<Contact>('contacts');
export const userResource = reference<User>('users');
export const agentResource = reference<Agent>('agents');
export const tagResource = reference<Tag>('tags');
export const topicResource = reference<Topic>('topics');
