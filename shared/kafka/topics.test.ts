import { kinds } from '../documents/document.ts';
import { idSchema, kindOfTopic, topicOf, topicsOf } from './topics.ts';

test.each(kinds)('kindOfTopic inverts topicOf for %s, with any prefix', (kind) => {
  expect(kindOfTopic(topicOf(kind, 'support.'), 'support.')).toBe(kind);
  expect(kindOfTopic(topicOf(kind, ''), '')).toBe(kind);
});

test('topics have the names of the event contract', () => {
  expect(topicsOf('support.')).toEqual([
    'support.api-keys',
    'support.contacts',
    'support.users',
    'support.agents',
    'support.tags',
    'support.topics',
    'support.channels',
    'support.tickets',
    'support.conversations',
    'support.messages',
    'support.knowledge-qas',
  ]);
});

test.each(['support.orders', 'tickets', 'support.support.tickets', ''])(
  'the topic "%s" has no kind',
  (topic) => {
    expect(kindOfTopic(topic, 'support.')).toBeNull();
  },
);

test.each([
  ['ticket', 'ti_1', true],
  ['ticket', 'ti_', false],
  ['ticket', 'conv_1', false],
  ['tag', 'anything', true],
  ['tag', '', false],
] as const)('idSchema(%s) accepts "%s": %s', (kind, id, valid) => {
  expect(idSchema(kind).safeParse(id).success).toBe(valid);
});
