import { given, living } from '../../../tests/support/example-join.ts';

const channel = living('channel', { id: 'chan_1', name: 'Help', dataRetentionDays: 30 });

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
