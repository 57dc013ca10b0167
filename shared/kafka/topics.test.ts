import { kinds } from '../documents/resources.ts';
import { idSchema, kindOfTopic, topicOf, topicsOf } from './topics.ts';

test.each(kinds)('the topic of %s has this kind, under its prefix alone', (kind) => {
  expect(kindOfTopic(topicOf(kind, 'support.'), 'support.')).toBe(kind);
  for (const prefix of ['', 'other.']) expect(kindOfTopic(topicOf(kind, 'support.'), prefix)).toBeNull();
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

test.each([
  ['ticket', 'ti_1', true],
  ['ticket', 'ti_', false],
  ['ticket', 'conv_1', false],
  ['tag', 'anything', true],
  ['tag', '', false],
] as const)('idSchema(%s) accepts "%s": %s', (kind, id, valid) => {
  expect(idSchema(kind).safeParse(id).success).toBe(valid);
});
