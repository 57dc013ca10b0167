import type { Own } from '../../../shared/documents/resources.ts';
import type { MessageJoined } from '../../../shared/documents/message.ts';
import { belongsTo, define, one } from './define.ts';
import { previewReadMax } from './preview.ts';

type Author = NonNullable<MessageJoined['author']>;
type AuthorType = NonNullable<Own['message']['author']>['type'];

const authorOf = (type: AuthorType) => (own: Own['message']) =>
  own.author?.type === type ? own.author.id : null;

export const message = define('message', {
  bulky: { field: 'content', headMax: previewReadMax },
  refers: {
    conversation: belongsTo('conversation', 'conversationId'),
    contact: one<'contact', 'message', Author>('contact', authorOf('contact'), ({ name, email }) => ({
      name,
      email: email?.email ?? null,
    })),
    user: one<'user', 'message', Author>('user', authorOf('user'), ({ name, email }) => ({ name, email })),
    agent: one<'agent', 'message', Author>('agent', authorOf('ai_agent'), ({ name }) => ({
      name,
      email: null,
    })),
  },
  document: ({ contact, user, agent }): MessageJoined => ({ author: contact ?? user ?? agent }),
});
