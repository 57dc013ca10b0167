import { deleted, given, living } from '../../../tests/support/example-join.ts';

const conversation = living('conversation', { id: 'conv_1' });

test.each([
  [
    'contact',
    living('contact', { id: 'con_1', name: 'Ada', email: { email: 'ada@example.com', verified: true } }),
    { type: 'contact', id: 'con_1' },
    { name: 'Ada', email: 'ada@example.com' },
  ],
  [
    'user',
    living('user', { id: 'user_1', name: 'Grace', email: 'grace@example.com' }),
    { type: 'user', id: 'user_1' },
    { name: 'Grace', email: 'grace@example.com' },
  ],
  [
    'AI agent',
    living('agent', { id: 'agent_1', name: 'Robin' }),
    { type: 'ai_agent', id: 'agent_1' },
    { name: 'Robin', email: null },
  ],
])('a message embeds its author, a %s', (_, entity, author, expected) => {
  const { joined } = given(conversation, entity).whenJoined('message', { author });
  expect(joined).toEqual({ author: expected });
});

test('a message has no author while that entity is missing', () => {
  const author = { type: 'contact', id: 'con_1' };
  const { joined, refs } = given(conversation).whenJoined('message', { author });
  expect(joined).toEqual({ author: null });
  expect(refs).toEqual(['conversation:conv_1', 'contact:con_1']);
});

test('the deletion of its conversation deletes a message; a missing conversation makes it an orphan', () => {
  expect(given(conversation).whenJoined('message')).toMatchObject({
    ownerDeleted: false,
    ownerMissing: false,
  });
  expect(given(deleted('conversation', 'conv_1')).whenJoined('message')).toMatchObject({
    ownerDeleted: true,
  });
  expect(given().whenJoined('message')).toMatchObject({ ownerDeleted: false, ownerMissing: true });
});
