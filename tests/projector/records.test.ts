import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { useProjector } from '../support/use-projector.ts';

describe('the projector, with a real Kafka and a real MongoDB', () => {
  const { environment, topic, send, publish, applied, find, deadLetters } = useProjector({ partitions: 2 });

  test('a record that cannot be applied is stored raw in MongoDB alone, and blocks nothing', async () => {
    // given an invalid record between valid records of the same key
    const value = '{"specversion":"1.0","credentials":"SECRET"';
    const [first, second] = [created('tag', 'tag_p'), created('tag', 'tag_p', { name: 'renamed' }, 2)];
    const poisoned = { key: 'tag_p', value, headers: { 'content-type': 'application/cloudevents+json' } };
    await send('tag', encode(first, 'structured'), poisoned, encode(second, 'binary'));
    // when all is applied
    await applied();
    // then the valid records are applied
    expect((await find('tag', 'tag_p'))?.state).toMatchObject({ name: 'renamed' });
    // and the other one is a dead letter
    const [deadLetter, ...others] = await deadLetters({ topic: topic('tag') });
    expect(others).toEqual([]);
    expect(deadLetter).toMatchObject({ reason: 'not_json', topic: topic('tag') });
    expect(deadLetter?.value?.toString()).toBe(value);
    expect(deadLetter?.detail).not.toContain('SECRET');
    // and the projector needs no topic of its own
    const existing = await environment.admin.listTopics();
    const ofTest = existing.filter((name) => name.startsWith(environment.config.TOPIC_PREFIX));
    expect(ofTest.toSorted()).toEqual(environment.topics.toSorted());
  });

  test('an entity keeps its organization: a record with another one is dead-lettered', async () => {
    await publish(created('contact', 'con_o'));
    await publish({ ...created('contact', 'con_o', { name: 'Eve' }, 2), orgId: 'org_2' });
    await applied();
    expect(await find('contact', 'con_o')).toMatchObject({ orgId: 'org_1', state: { name: 'Ada' } });
    expect(await deadLetters({ topic: topic('contact') })).toMatchObject([{ reason: 'wrong_organization' }]);
  });
});
