import { kinds } from '../../shared/documents/document.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { encode, idPrefixes } from '../support/events.ts';
import { useProjector } from '../support/use-projector.ts';
import { eventually } from '../support/eventually.ts';
import { logEnds } from '../support/progress.ts';

describe('the projector, with a real Kafka and a real MongoDB', () => {
  const { environment, topic, send, publish, applied, find, committed, deadLetters, start, stop } =
    useProjector({ partitions: 2 });

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

  test('a replay of the log changes only the revisions of documents', async () => {
    const documents = async () =>
      Promise.all(
        kinds.map((kind) =>
          collectionOf(environment.database, kind)
            .find({}, { projection: { revision: 0 }, sort: { _id: 1 } })
            .toArray(),
        ),
      );
    const references = ['contact', 'channel', 'conversation', 'ticket'] as const;
    await publish(
      created('message', 'msg_1'),
      ...references.map((kind) => created(kind, `${idPrefixes[kind]}1`)),
    );
    await publish({ ...created('conversation', 'conv_gone'), op: 'deleted' });
    await applied();
    const before = await documents();
    await stop();
    await environment.admin.deleteGroups([environment.config.CONSUMER_GROUP]);
    await start();
    const published = [...(await logEnds(environment.admin, [topic('message')])).values()];
    const end = published.reduce((sum, offset) => sum + offset, 0);
    await eventually(async () => (await committed('message')) === end);
    expect(await documents()).toEqual(before);
  });
});
