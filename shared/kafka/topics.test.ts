import { kinds } from '../documents/resources.ts';
import { goldenOf } from '../../tests/support/golden.ts';
import { idSchema, kindOfTopic, topicOf, topicsOf } from './topics.ts';

test.each(kinds)('the topic of %s has this kind, under its prefix alone', (kind) => {
  expect(kindOfTopic(topicOf(kind, 'support.'), 'support.')).toBe(kind);
  for (const prefix of ['', 'other.']) expect(kindOfTopic(topicOf(kind, 'support.'), prefix)).toBeNull();
});

test('topics keep their names', async () => {
  const actual = Object.fromEntries(kinds.map((kind) => [kind, topicOf(kind, 'support.')]));
  expect(actual).toEqual(await goldenOf('shared/kafka/topics.golden.json', actual));
  expect(topicsOf('support.')).toEqual(Object.values(actual));
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
