import { BSON } from 'mongodb';
import { deadLettersOf } from '../../services/projector/dead-letters/collection.ts';
import { storeDeadLetters } from '../../services/projector/dead-letters/store-dead-letters.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { created } from '../support/entities.ts';
import { encode, type Event, type Produced } from '../support/events.ts';
import {
  applied,
  createTestEnvironment,
  runProjector,
  type TestEnvironment,
} from '../support/test-environment.ts';

/** In every personal text of the histories below, and in nothing else. */
const personal = 'Zaphod';

describe('a deletion leaves no personal data behind', () => {
  let testEnvironment: TestEnvironment;
  let projector: Awaited<ReturnType<typeof runProjector>>;

  beforeAll(async () => {
    testEnvironment = await createTestEnvironment(1);
    projector = await runProjector(testEnvironment);
  }, 120_000);

  afterAll(async () => {
    await projector.stop();
    await testEnvironment.close();
  }, 120_000);

  type Record = { kind: Event['kind']; produced: Produced };
  const record = (event: Event): Record => ({ kind: event.kind, produced: encode(event, 'structured') });
  /** The same with a field that is not valid, so that it is set aside. */
  const bad = (event: Event, field: string): Record =>
    record({ ...event, data: { ...event.data, [field]: 7 } });
  const deletion = (kind: Event['kind'], id: string): Record =>
    record({ kind, id, orgId: 'org_1', version: 9, op: 'deleted', time: new Date() });

  const publish = async (records: Record[]) => {
    for (const { kind, produced } of records)
      await testEnvironment.producer.send({
        topic: topicOf(kind, testEnvironment.config.TOPIC_PREFIX),
        messages: [produced],
      });
    await applied(testEnvironment, () => projector.fatal);
  };
  /** Where the text stands: names of collections of both databases, letters' bytes included. */
  const startOffsetsOf = async (text: string): Promise<string[]> => {
    const databases = [testEnvironment.control, testEnvironment.database];
    const collections = (await Promise.all(databases.map((one) => one.collections()))).flat();
    const holding = collections.map(async (collection) => {
      const documents = await collection.find().toArray();
      const bytes = Buffer.concat(documents.map((document) => BSON.serialize(document)));
      return bytes.includes(text) ? [collection.collectionName] : [];
    });
    return (await Promise.all(holding)).flat().sort();
  };
  const deadLetters = () => deadLettersOf(testEnvironment.control).countDocuments();

  test('of a contact, in whatever shows it, and in what was set aside about it', async () => {
    const email = { email: `${personal}@example.com`, verified: true };
    const contact = created('contact', 'con_z', { name: personal, email });
    const message = created('message', 'msg_c', { author: { type: 'contact', id: 'con_z' } });
    const history = [
      record(created('channel', 'chan_1')),
      record(created('ticket', 'ti_c', { requesterId: 'con_z' })),
      record(created('conversation', 'conv_c', { contactId: 'con_z' })),
      record(message),
      record(contact),
      bad({ ...contact, version: 2 }, 'email'),
    ];
    await publish(history);
    expect(await startOffsetsOf(personal)).toEqual([
      'contacts',
      'conversations',
      'dead_letters',
      'messages',
      'tickets',
    ]);
    // when it is deleted
    await publish([deletion('contact', 'con_z')]);
    expect(await startOffsetsOf(personal)).toEqual([]);
    // then neither does a replay of what the log still holds bring it back
    await publish([...history, deletion('contact', 'con_z')]);
    expect([await startOffsetsOf(personal), await deadLetters()]).toEqual([[], 0]);
  }, 60_000);

  test('of a conversation: its messages, their previews, and what was set aside of either', async () => {
    const conversation = created('conversation', 'conv_z', { title: personal });
    const message = created('message', 'msg_z', { conversationId: 'conv_z', content: personal });
    const late = created('message', 'msg_late', { conversationId: 'conv_z', content: personal });
    const other = created('message', 'msg_other', { conversationId: 'conv_c', content: 'kept' });
    const history = [
      record(created('channel', 'chan_1')),
      record(conversation),
      record(message),
      bad({ ...conversation, version: 2 }, 'status'),
      bad({ ...message, version: 2 }, 'type'),
      bad({ ...other, version: 2 }, 'type'),
    ];
    await publish(history);
    expect(await startOffsetsOf(personal)).toEqual(['conversations', 'dead_letters', 'messages']);
    expect(await deadLetters()).toBe(3);
    await publish([deletion('conversation', 'conv_z')]);
    expect(await startOffsetsOf(personal)).toEqual([]);
    // and what arrives for it later is not kept either, valid or not
    await publish([...history, deletion('conversation', 'conv_z'), record(late)]);
    expect(await startOffsetsOf(personal)).toEqual([]);
    // while the letters of others stay
    expect(await startOffsetsOf('kept')).toEqual(['dead_letters']);
  }, 60_000);

  test('of a contact: what a worker that has lost its partition sets aside after it', async () => {
    // given a contact that is deleted
    const contact = created('contact', 'con_late', { name: personal });
    await publish([record(contact), deletion('contact', 'con_late')]);
    // and a refused record of before, and one of somebody else, kept by one that dies before it looks
    const { control, producer, config } = testEnvironment;
    const keep = (event: Event, offset: number) => {
      const { key, value, headers } = encode({ ...event, data: { ...event.data, email: 7 } }, 'structured');
      const position = { partition: 7, offset, timestampMs: Date.now() };
      const late = { key: Buffer.from(key), value: Buffer.from(value ?? ''), headers, position };
      const rejection = { reason: 'bad_data' as const, detail: 'data.email: must be an object' };
      const deps = { control, producer, prefix: config.TOPIC_PREFIX, generation: 1, now: () => new Date() };
      return storeDeadLetters(deps, topicOf('contact', config.TOPIC_PREFIX), [{ record: late, rejection }]);
    };
    await keep(contact, 1);
    await keep(created('contact', 'con_other', { name: 'kept too' }), 2);
    expect(await startOffsetsOf(personal)).toEqual(['dead_letters']);
    // then it is gone once another has swept
    const next = await runProjector(testEnvironment);
    while ((await startOffsetsOf(personal)).length > 0)
      await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await startOffsetsOf('kept too')).toEqual(['dead_letters']);
    await next.stop();
  }, 60_000);

  test('but a record of the time after it is kept, for the entity may have come back', async () => {
    const contact = created('contact', 'con_back', { name: 'first' });
    await publish([record(contact), deletion('contact', 'con_back')]);
    const before = await deadLetters();
    await publish([bad({ ...contact, version: 10 }, 'email')]);
    expect(await deadLetters()).toBe(before + 1);
  }, 60_000);

  test('but a deletion that comes again takes along what it was later than, not what came after it', async () => {
    // given a deletion, and behind it two refused records: of a later version and of one before
    const contact = created('contact', 'con_again', { name: 'first' });
    const gone = record({ ...contact, version: 3, op: 'deleted' });
    await publish([record(contact), gone]);
    const before = await deadLetters();
    await publish([
      bad({ ...contact, version: 5 }, 'email'),
      bad({ ...contact, data: { ...contact.data, name: personal }, version: 2 }, 'email'),
    ]);
    // then the one before is not even kept, however often the deletion comes
    await publish([gone]);
    expect([await deadLetters(), await startOffsetsOf(personal)]).toEqual([before + 1, []]);
    // until the entity is past the later version too
    await publish([record({ ...contact, version: 6, op: 'deleted' })]);
    expect(await deadLetters()).toBe(before);
  }, 60_000);

  test("by a tombstone that names no version, too, and not by that of another topic's entity", async () => {
    const tag = created('tag', 'both', { name: personal });
    const channel = created('channel', 'both');
    await publish([record(tag), bad({ ...tag, version: 2 }, 'id'), bad(channel, 'name')]);
    const before = await deadLetters();
    await publish([record({ ...tag, op: 'tombstone' })]);
    expect(await startOffsetsOf(personal)).toEqual([]);
    expect(await deadLetters()).toBe(before - 1);
    // and what is published behind the tombstone is kept
    await publish([bad({ ...tag, version: 2 }, 'id')]);
    expect(await deadLetters()).toBe(before);
  }, 60_000);

  test('but a deletion that does not delete takes no letter along, and is kept itself where refused', async () => {
    // given an entity that was created again, and a later record of it that was set aside
    const contact = created('contact', 'con_lives', { name: 'first' });
    const gone = deletion('contact', 'con_lives');
    await publish([record(contact), gone, record({ ...contact, version: 10 })]);
    const before = await deadLetters();
    await publish([bad({ ...contact, version: 11 }, 'email')]);
    // when the deletion comes again, and another is refused
    const time = new Date();
    const foreign = { kind: 'contact', id: 'con_lives', orgId: 'org_2', op: 'deleted', time } as const;
    await publish([gone, record({ ...foreign, version: 12 })]);
    // then both letters are there
    expect(await deadLetters()).toBe(before + 2);
  }, 60_000);
});
