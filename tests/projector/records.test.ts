import { CompressionTypes } from 'kafkajs';
import { kinds } from '../../shared/documents/document.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { deadLettersOf } from '../../services/projector/dead-letters/collection.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { pino } from 'pino';
import { channelsWithSecrets, created } from '../support/entities.ts';
import { encode, type Event } from '../support/events.ts';
import {
  applied,
  createTestEnvironment,
  runProjector,
  type TestEnvironment,
} from '../support/test-environment.ts';

describe('the projector, with a real Kafka and a real MongoDB', () => {
  let testEnvironment: TestEnvironment;
  let projector: Awaited<ReturnType<typeof runProjector>>;

  beforeAll(async () => {
    testEnvironment = await createTestEnvironment(2);
    projector = await runProjector(testEnvironment);
  }, 120_000);

  afterAll(async () => {
    await projector.stop();
    await testEnvironment.close();
  }, 120_000);

  const topic = (kind: Event['kind']) => topicOf(kind, testEnvironment.config.TOPIC_PREFIX);
  const publish = async (events: Event[], compression = CompressionTypes.None) => {
    for (const [kind, some] of Map.groupBy(events, (event) => event.kind)) {
      const messages = some.map((event) => encode(event, 'structured'));
      await testEnvironment.producer.send({ topic: topic(kind), messages, compression });
    }
  };
  const settled = () => applied(testEnvironment, () => projector.fatal);
  const find = (kind: Event['kind'], id: string) =>
    collectionOf(testEnvironment.database, kind).findOne({ _id: id });

  test('a record that cannot be applied is stored raw in MongoDB alone, and blocks nothing', async () => {
    // given an invalid record between valid records of the same key
    const value = '{"specversion":"1.0","credentials":"SECRET"';
    const [first, second] = [created('tag', 'tag_p'), created('tag', 'tag_p', { name: 'renamed' }, 2)];
    const poisoned = { key: 'tag_p', value, headers: { 'content-type': 'application/cloudevents+json' } };
    const messages = [encode(first, 'structured'), poisoned, encode(second, 'binary')];
    await testEnvironment.producer.send({ topic: topic('tag'), messages });
    // when all is applied
    await settled();
    // then the valid records are applied
    expect((await find('tag', 'tag_p'))?.state).toMatchObject({ name: 'renamed' });
    // and the other one is a dead letter
    const [deadLetter, ...others] = await deadLettersOf(testEnvironment.control)
      .find({ topic: topic('tag') })
      .toArray();
    expect(others).toEqual([]);
    expect(deadLetter).toMatchObject({ reason: 'not_json', topic: topic('tag') });
    expect(deadLetter?.value?.toString()).toBe(value);
    expect(deadLetter?.detail).not.toContain('SECRET');
    // and the projector needs no topic of its own
    const existing = await testEnvironment.admin.listTopics();
    const ofTest = existing.filter((name) => name.startsWith(testEnvironment.config.TOPIC_PREFIX));
    expect(ofTest.toSorted()).toEqual(testEnvironment.topics.toSorted());
  }, 60_000);

  test('secrets of a channel, in any block, reach no collection', async () => {
    await publish(channelsWithSecrets);
    await settled();
    for (const { id } of channelsWithSecrets) expect(await find('channel', id)).not.toBeNull();
    for (const database of [testEnvironment.database, testEnvironment.control]) {
      for (const { collectionName } of await database.collections()) {
        const stored = await database
          .collection(collectionName)
          .find({}, { projection: { value: 0 } })
          .toArray();
        expect(JSON.stringify(stored)).not.toContain('SECRET');
      }
    }
  }, 60_000);

  test('an entity keeps its organization: a record with another one is dead-lettered', async () => {
    await publish([created('contact', 'con_o')]);
    await publish([{ ...created('contact', 'con_o', { name: 'Eve' }, 2), orgId: 'org_2' }]);
    await settled();
    expect(await find('contact', 'con_o')).toMatchObject({ orgId: 'org_1', state: { name: 'Ada' } });
    const deadLetters = await deadLettersOf(testEnvironment.control)
      .find({ topic: topic('contact') })
      .toArray();
    expect(deadLetters.map(({ reason }) => reason)).toEqual(['wrong_organization']);
  }, 60_000);

  test.each([
    ['gzip', CompressionTypes.GZIP],
    ['snappy', CompressionTypes.Snappy],
    ['lz4', CompressionTypes.LZ4],
    ['zstd', CompressionTypes.ZSTD],
  ])(
    'records compressed with %s are read',
    async (name, compression) => {
      createKafka(testEnvironment.config, pino({ level: 'silent' }));
      await publish([created('message', `msg_${name}`, { content: name.repeat(2_000) })], compression);
      await settled();
      expect((await find('message', `msg_${name}`))?.state).toMatchObject({ content: name.repeat(2_000) });
    },
    60_000,
  );

  test('records of an aborted transaction are not read, and the records after it are', async () => {
    const kafka = createKafka(testEnvironment.config, pino({ level: 'silent' }));
    const producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      transactionalId: testEnvironment.name,
    });
    await producer.connect();
    const send = async (id: string, end: 'commit' | 'abort') => {
      const transaction = await producer.transaction();
      await transaction.send({ topic: topic('tag'), messages: [encode(created('tag', id), 'structured')] });
      await transaction[end]();
    };
    await send('tag_committed', 'commit');
    await send('tag_aborted', 'abort');
    await producer.disconnect();
    // The log now ends in control records, which never reach a handler. `settled` waits until they are passed.
    await settled();
    expect(await find('tag', 'tag_committed')).not.toBeNull();
    expect(await find('tag', 'tag_aborted')).toBeNull();
  }, 60_000);

  test('a rename reaches every document that shows the entity, whatever their number', async () => {
    const thread = Array.from({ length: 1_700 }, (_, index) => created('message', `msg_${index}`));
    await publish([
      created('contact', 'con_1'),
      created('conversation', 'conv_1'),
      ...thread,
      created('ticket', 'ti_1'),
    ]);
    await settled();
    await publish([created('contact', 'con_1', { name: 'Countess' }, 2)]);
    await settled();
    const stale = {
      orgId: 'org_1',
      'state.conversationId': 'conv_1',
      'joined.author.name': { $ne: 'Countess' },
    };
    expect(await collectionOf(testEnvironment.database, 'message').countDocuments(stale)).toBe(0);
    expect(await find('conversation', 'conv_1')).toMatchObject({ joined: { contact: { name: 'Countess' } } });
    expect(await find('ticket', 'ti_1')).toMatchObject({ joined: { requester: { name: 'Countess' } } });
  }, 60_000);

  test('a conversation is pending until its channel arrives, and its messages are deleted with it', async () => {
    expect(await find('conversation', 'conv_1')).toMatchObject({ pending: true, joined: { channel: null } });
    expect(await find('ticket', 'ti_1')).toMatchObject({ joined: { conversations: [] } });
    await publish([created('channel', 'chan_1')]);
    await settled();
    const shown = await find('conversation', 'conv_1');
    expect(shown).toMatchObject({ joined: { channel: { name: 'Support' } } });
    expect(shown).not.toHaveProperty('pending');
    expect(await find('ticket', 'ti_1')).toMatchObject({ joined: { conversations: [{ id: 'conv_1' }] } });
    await publish([{ ...created('conversation', 'conv_1', {}, 2), op: 'deleted' }]);
    await settled();
    await publish([created('message', 'msg_late')]);
    await settled();
    expect(
      await collectionOf(testEnvironment.database, 'message').countDocuments({ state: { $exists: true } }),
    ).toBe(0);
    expect(await find('ticket', 'ti_1')).toMatchObject({ joined: { conversations: [] } });
  }, 60_000);

  test('a replay of the log changes only the revisions of documents', async () => {
    const documents = async () =>
      Promise.all(
        kinds.map((kind) =>
          collectionOf(testEnvironment.database, kind)
            .find({}, { projection: { revision: 0 }, sort: { _id: 1 } })
            .toArray(),
        ),
      );
    const before = await documents();
    await projector.stop();
    await testEnvironment.admin.deleteGroups([testEnvironment.config.CONSUMER_GROUP]);
    projector = await runProjector(testEnvironment);
    const committed = async () => {
      const topics = await testEnvironment.admin.fetchOffsets({
        groupId: testEnvironment.config.CONSUMER_GROUP,
        topics: [topic('message')],
      });
      return topics
        .flatMap(({ partitions }) => partitions)
        .reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0);
    };
    while ((await committed()) < 1_701) await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await documents()).toEqual(before);
  }, 60_000);
});
