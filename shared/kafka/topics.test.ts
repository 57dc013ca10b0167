import { goldenOf } from '../../tests/support/golden.ts';
import { kinds } from '../documents/resources.ts';
import { kindOfTopic, topicOf, topicsOf } from './topics.ts';

test.each(kinds)('the topic of %s has this kind only under its prefix', (kind) => {
  expect(kindOfTopic(topicOf(kind, 'support.'), 'support.')).toBe(kind);
  for (const prefix of ['', 'other.']) expect(kindOfTopic(topicOf(kind, 'support.'), prefix)).toBeNull();
});

test('topics keep their names', async () => {
  const actual = Object.fromEntries(kinds.map((kind) => [kind, topicOf(kind, 'support.')]));
  expect(actual).toEqual(await goldenOf('shared/kafka/topics.golden.json', actual));
  expect(topicsOf('support.')).toEqual(Object.values(actual));
});
