import { BSON } from 'mongodb';
import { standingLetters } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { encode, type Event, type Produced } from '../support/events.ts';
import { useProjector } from '../support/use-projector.ts';

/** Every personal text of the histories below contains this name. No other text contains it. */
const personal = 'Zaphod';

describe('a deletion erases all personal data', () => {
  const { environment, send, applied } = useProjector();

  type SentRecord = { kind: Event['kind']; produced: Produced };
  const record = (event: Event): SentRecord => ({ kind: event.kind, produced: encode(event, 'structured') });
  /** The record of the event with an invalid field: the projector stores it as a dead letter. */
  const invalid = (event: Event, field: string): SentRecord =>
    record({ ...event, data: { ...event.data, [field]: 7 } });
  const deletion = (kind: Event['kind'], id: string): SentRecord =>
    record({ kind, id, orgId: 'org_1', version: 9, op: 'deleted', time: new Date() });

  const publish = async (records: SentRecord[]) => {
    for (const { kind, produced } of records) await send(kind, produced);
    await applied();
  };
  /** The names of the collections of both databases that contain the text, dead letters included. */
  const collectionsWith = async (text: string): Promise<string[]> => {
    const databases = [environment.control, environment.database];
    const collections = (await Promise.all(databases.map((database) => database.collections()))).flat();
    const names = collections.map(async (collection) => {
      const documents = await collection.find().toArray();
      const bytes = Buffer.concat(documents.map((document) => BSON.serialize(document)));
      return bytes.includes(text) ? [collection.collectionName] : [];
    });
    return (await Promise.all(names)).flat().sort();
  };
  const countDeadLetters = async () => (await standingLetters(environment.control)).length;

  test('of a contact: in every document that shows it, and in its dead letters', async () => {
    const email = { email: `${personal}@example.com`, verified: true };
    const contact = created('contact', 'con_z', { name: personal, email });
    const message = created('message', 'msg_c', { author: { type: 'contact', id: 'con_z' } });
    const history = [
      record(created('channel', 'chan_1')),
      record(created('ticket', 'ti_c', { requesterId: 'con_z' })),
      record(created('conversation', 'conv_c', { contactId: 'con_z' })),
      record(message),
      record(contact),
      invalid({ ...contact, version: 2 }, 'email'),
    ];
    await publish(history);
    expect(await collectionsWith(personal)).toEqual([
      'contacts',
      'conversations',
      'dead_letter_bytes',
      'messages',
      'tickets',
    ]);
    await publish([deletion('contact', 'con_z')]);
    expect(await collectionsWith(personal)).toEqual([]);
    // and a replay of the log does not restore it either
    await publish([...history, deletion('contact', 'con_z')]);
    expect({ collections: await collectionsWith(personal), deadLetters: await countDeadLetters() }).toEqual({
      collections: [],
      deadLetters: 0,
    });
  });

  test('of a conversation: its messages, their previews, and the dead letters of both', async () => {
    const conversation = created('conversation', 'conv_z', { title: personal });
    const message = created('message', 'msg_z', { conversationId: 'conv_z', content: personal });
    const late = created('message', 'msg_late', { conversationId: 'conv_z', content: personal });
    const other = created('message', 'msg_other', { conversationId: 'conv_c', content: 'kept' });
    const history = [
      record(created('channel', 'chan_1')),
      record(conversation),
      record(message),
      invalid({ ...conversation, version: 2 }, 'status'),
      invalid({ ...message, version: 2 }, 'type'),
      invalid({ ...other, version: 2 }, 'type'),
    ];
    await publish(history);
    expect(await collectionsWith(personal)).toEqual(['conversations', 'dead_letter_bytes', 'messages']);
    expect(await countDeadLetters()).toBe(3);
    await publish([deletion('conversation', 'conv_z')]);
    expect(await collectionsWith(personal)).toEqual([]);
    // and the projector does not store later records about the conversation either, valid or not
    await publish([...history, deletion('conversation', 'conv_z'), record(late)]);
    expect(await collectionsWith(personal)).toEqual([]);
    // while it keeps the dead letters of other entities
    expect(await collectionsWith('kept')).toEqual(['dead_letter_bytes']);
  });

  test('a repeated deletion erases dead letters of earlier versions, not of later ones', async () => {
    // given a deletion, followed by two rejected records, of a later and of an earlier version
    const contact = created('contact', 'con_again', { name: 'first' });
    const deleted = record({ ...contact, version: 3, op: 'deleted' });
    await publish([record(contact), deleted]);
    const before = await countDeadLetters();
    await publish([
      invalid({ ...contact, version: 5 }, 'email'),
      invalid({ ...contact, data: { ...contact.data, name: personal }, version: 2 }, 'email'),
    ]);
    // then the projector does not store the earlier version, however often the source repeats the deletion
    await publish([deleted]);
    expect({ deadLetters: await countDeadLetters(), collections: await collectionsWith(personal) }).toEqual({
      deadLetters: before + 1,
      collections: [],
    });
    // and a later deletion erases the dead letter of the later version
    await publish([record({ ...contact, version: 6, op: 'deleted' })]);
    expect(await countDeadLetters()).toBe(before);
  });

  test('a tombstone, which has no version, erases too, but not the entity of another topic with the same id', async () => {
    const tag = created('tag', 'both', { name: personal });
    const channel = created('channel', 'both');
    await publish([record(tag), invalid({ ...tag, version: 2 }, 'id'), invalid(channel, 'name')]);
    const before = await countDeadLetters();
    await publish([record({ ...tag, op: 'tombstone' })]);
    expect(await collectionsWith(personal)).toEqual([]);
    expect(await countDeadLetters()).toBe(before - 1);
    // and the projector keeps a dead letter that comes after the tombstone
    await publish([invalid({ ...tag, version: 2 }, 'id')]);
    expect(await countDeadLetters()).toBe(before);
  });

  test('a deletion without effect erases no dead letter, and is dead-lettered itself if it is rejected', async () => {
    // given an entity that the source has created again, and a later dead letter about the entity
    const contact = created('contact', 'con_lives', { name: 'first' });
    const deleted = deletion('contact', 'con_lives');
    await publish([record(contact), deleted, record({ ...contact, version: 10 })]);
    const before = await countDeadLetters();
    await publish([invalid({ ...contact, version: 11 }, 'email')]);
    // when the source repeats the deletion, and the projector rejects another deletion
    const time = new Date();
    const foreign = { kind: 'contact', id: 'con_lives', orgId: 'org_2', op: 'deleted', time } as const;
    await publish([deleted, record({ ...foreign, version: 12 })]);
    expect(await countDeadLetters()).toBe(before + 2);
  });
});
