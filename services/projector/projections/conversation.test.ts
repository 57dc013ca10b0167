import { given, living } from '../../../tests/support/example-join.ts';

const channel = living('channel', { id: 'chan_1', name: 'Help', dataRetentionDays: 30 });

test('a conversation embeds its channel, people and labels', () => {
  const { joined, isPending } = given(
    channel,
    living('contact', { id: 'con_1', name: 'Ada', email: { email: 'ada@example.com', verified: true } }),
    living('user', { id: 'user_1', name: 'Grace', email: 'grace@example.com' }),
    living('topic', { id: 'topic_1', name: 'Refunds', color: '#12aBcd' }),
    living('tag', { id: 'tag_1', name: 'Billing' }),
    living('tag', { id: 'tag_2', name: 'Urgent' }),
  ).whenJoined('conversation', {
    channelId: 'chan_1',
    contactId: 'con_1',
    assignedUserId: 'user_1',
    topicIds: ['topic_1'],
    tagIds: ['tag_2', 'tag_1'],
  });
  expect(joined).toEqual({
    channel: { id: 'chan_1', name: 'Help', type: 'email', dataRetentionDays: 30 },
    contact: { name: 'Ada', email: 'ada@example.com' },
    assignedUser: { id: 'user_1', name: 'Grace', email: 'grace@example.com' },
    topics: [{ id: 'topic_1', name: 'Refunds', color: '#12aBcd' }],
    tags: [
      { id: 'tag_2', name: 'Urgent' },
      { id: 'tag_1', name: 'Billing' },
    ],
  });
  expect(isPending).toBe(false);
});

test('a conversation is pending while its channel is missing, and still refers to it', () => {
  const { joined, refs, isPending } = given().whenJoined('conversation', { channelId: 'chan_1' });
  expect(joined).toMatchObject({ channel: null });
  expect(refs).toContain('channel:chan_1');
  expect(isPending).toBe(true);
});

test('a contact without an address, a missing user and a missing tag leave gaps', () => {
  const ids = { contactId: 'con_1', assignedUserId: 'user_1', tagIds: ['tag_1'] };
  const { joined } = given(channel, living('contact', { email: null })).whenJoined('conversation', ids);
  expect(joined).toMatchObject({ contact: { name: null, email: null }, assignedUser: null, tags: [] });
});

test('an entity of another organization counts as missing', () => {
  const foreign = living('contact', { id: 'con_1', name: 'Eve' }, 'org_2');
  const { joined } = given(channel, foreign).whenJoined('conversation', { contactId: 'con_1' });
  expect(joined).toMatchObject({ contact: null });
});
