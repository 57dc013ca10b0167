import { defineProjection } from './define-projection.ts';

const children = { items: [{ id: 'conv_1', channelId: 'chan_1' }], moreAfter: null };

test('a projection lists its edges in order, each with its name and its fields', () => {
  const { edges } = defineProjection(
    'ticket',
    ({ one, many, childrenOf, through }) => {
      const threads = childrenOf('conversation', 'ticketId', 3, 'id', 'channelId');
      return {
        requester: one('contact', (state) => state.requesterId, 'name'),
        tags: many('tag', (state) => state.tagIds, 'id', 'name'),
        threads,
        channels: through(threads, 'channelId', 'channel', 'name'),
      };
    },
    (joined) => joined,
  );
  expect(edges.map(({ name, to, fields }) => [name, to, fields])).toEqual([
    ['requester', 'contact', ['name']],
    ['tags', 'tag', ['id', 'name']],
    ['threads', 'conversation', ['id', 'channelId']],
    ['channels', 'channel', ['name']],
  ]);
  expect(edges[3]).toMatchObject({ type: 'through', via: edges[2], field: 'channelId' });
});

test('a projection joins the values to which its edges resolved', () => {
  const { join, deletionIsFinal } = defineProjection(
    'ticket',
    ({ childrenOf }) => ({ threads: childrenOf('conversation', 'ticketId', 3, 'id', 'channelId') }),
    ({ threads }) => ({ ids: threads.items.map(({ id }) => id) }),
    { isPending: ({ ids }) => ids.length === 0 },
  );
  expect(join({ threads: children })).toEqual({ joined: { ids: ['conv_1'] }, isPending: false });
  expect(join({ threads: { items: [], moreAfter: null } })).toMatchObject({ isPending: true });
  expect(deletionIsFinal).toBe(false);
});

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
