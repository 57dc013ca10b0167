import type { MessageJoined } from '../../../shared/documents/message.ts';
import type { EntityState } from '../../../shared/documents/resources.ts';
import { defineProjection } from './define-projection.ts';

type AuthorType = NonNullable<EntityState['message']['author']>['type'];

const authorOf =
  (type: AuthorType) =>
  ({ author }: EntityState['message']) =>
    author?.type === type ? author.id : null;

export const message = defineProjection(
  'message',
  ({ one, belongsTo }) => ({
    conversation: belongsTo('conversation', 'conversationId'),
    contact: one('contact', authorOf('contact'), 'name', 'email'),
    user: one('user', authorOf('user'), 'name', 'email'),
    agent: one('agent', authorOf('ai_agent'), 'name'),
  }),
  ({ contact, user, agent }): MessageJoined => {
    if (contact) return { author: { name: contact.name, email: contact.email?.email ?? null } };
    if (user) return { author: { name: user.name, email: user.email } };
    return { author: agent && { name: agent.name, email: null } };
  },
);
