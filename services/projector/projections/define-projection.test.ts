import { defineProjection } from './define-projection.ts';

/** Checked by the compiler alone: each marked line must not compile. */
test('a projection that names a wrong field does not compile', () => {
  defineProjection(
    'ticket',
    ({ one, many, childrenOf, through, belongsTo }) => {
      const threads = childrenOf('conversation', 'ticketId', 3, 'id', 'channelId');
      return {
        // @ts-expect-error a contact has no color
        embeds: one('contact', (state) => state.requesterId, 'color'),
        // @ts-expect-error one id is no list of ids
        names: many('tag', (state) => state.requesterId, 'id'),
        // @ts-expect-error a list of tags is no reference to one entity
        list: one('tag', (state) => state.tagIds, 'id'),
        // @ts-expect-error a conversation names no parent in a list
        parent: childrenOf('conversation', 'tagIds', 3, 'id'),
        // @ts-expect-error these children were read without the field `contactId`
        unread: through(threads, 'contactId', 'contact', 'name'),
        // @ts-expect-error a ticket names no conversation
        owner: belongsTo('conversation', 'conversationId'),
      };
    },
    () => ({}),
  );
  defineProjection(
    'tag',
    ({ one }) => ({ topic: one('topic', (state) => state.id, 'id') }),
    // @ts-expect-error the edge embeds the id alone
    (resolved): { topic: { name: string } | null } => resolved,
  );
});
