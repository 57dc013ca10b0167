import { describeOtherTopics, otherPartitions } from './other-topics.ts';
import { topicsOf } from './topics.ts';

const recorded = (prefix: string, position: number) =>
  topicsOf(prefix).map((topic) => ({ topic, partition: 0, applied: { position } }));

test.each([
  { name: 'the same topics', progress: recorded('support.', 5), prefix: 'support.', others: [] },
  { name: 'no progress', progress: [], prefix: 'support.', others: [] },
  {
    name: 'topics of another prefix without an applied record',
    progress: recorded('sup.', 0),
    prefix: 'support.',
    others: [],
  },
  {
    name: 'topics of another prefix',
    progress: recorded('support.', 5),
    prefix: 'mm.support.',
    others: topicsOf('support.'),
  },
  {
    name: 'a prefix that begins alike',
    progress: recorded('mm.support.', 5),
    prefix: 'mm.',
    others: topicsOf('mm.support.'),
  },
  { name: 'an empty prefix', progress: recorded('support.', 5), prefix: '', others: topicsOf('support.') },
])('the other partitions of $name', ({ progress, prefix, others }) => {
  expect(otherPartitions(progress, topicsOf(prefix))).toEqual(others.map((topic) => `${topic}/0`).toSorted());
});

test('a topic of a kind that only another release knows makes no prefix', () => {
  const known = recorded('support.', 5);
  // By its end, the second one could be the topic of tickets with the prefix `support.side-`.
  const later = ['support.notes', 'support.side-tickets'].map((topic) => ({
    topic,
    partition: 0,
    applied: { position: 5 },
  }));
  expect(describeOtherTopics([...known, ...later], topicsOf('support.'))).toBeNull();
  // An earlier release has recorded fewer kinds.
  expect(describeOtherTopics(known.slice(2), topicsOf('support.'))).toBeNull();
  expect(describeOtherTopics(known.slice(2), topicsOf('mm.'))).toContain(
    'it has applied records of support.*',
  );
});

test('the description names a partition and both prefixes', () => {
  expect(describeOtherTopics(recorded('pub.', 5), topicsOf('mm.pub.'))).toContain(
    'it has applied records of pub.*, such as those of pub.agents/0, but TOPIC_PREFIX names mm.pub.*.',
  );
});
