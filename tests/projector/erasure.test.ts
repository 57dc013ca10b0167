import { BSON } from 'mongodb';
import { standingLetters } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { encode, type Event, type Produced } from '../support/events.ts';
import { useProjector } from '../support/use-projector.ts';

/** Every personal text of the histories below contains this name. No other text contains it. */
const personal = 'Zaphod';

describe('personal data', () => {
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

  test('is erased from all documents and dead letters by the deletion of its contact', async () => {
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
    // A replay of the log does not restore the data.
    await publish([...history, deletion('contact', 'con_z')]);
    expect({ collections: await collectionsWith(personal), deadLetters: await countDeadLetters() }).toEqual({
      collections: [],
      deadLetters: 0,
    });
  });

  test('is erased from messages, previews and dead letters by the deletion of their conversation', async () => {
    const conversation = created('conversation', 'conv_z', { title: personal });
    const message = created('message', 'msg_z', { conversationId: 'conv_z', content: personal });
    const late = created('message', 'msg_late', { conversationId: 'conv_z', content: personal });
    const otherMessage = created('message', 'msg_other', { conversationId: 'conv_c', content: 'kept' });
    const history = [
      record(created('channel', 'chan_1')),
      record(conversation),
      record(message),
      invalid({ ...conversation, version: 2 }, 'status'),
      invalid({ ...message, version: 2 }, 'type'),
      invalid({ ...otherMessage, version: 2 }, 'type'),
    ];
    await publish(history);
    expect(await collectionsWith(personal)).toEqual(['conversations', 'dead_letter_bytes', 'messages']);
    expect(await countDeadLetters()).toBe(3);
    await publish([deletion('conversation', 'conv_z')]);
    expect(await collectionsWith(personal)).toEqual([]);
    // The projector stores nothing of later records about the conversation, whether valid or not.
    await publish([...history, deletion('conversation', 'conv_z'), record(late)]);
    expect(await collectionsWith(personal)).toEqual([]);
    // The dead letters of other entities stay.
    expect(await collectionsWith('kept')).toEqual(['dead_letter_bytes']);
  });

  test('stays erased for versions before a repeated deletion', async () => {
    // Two records are rejected after a deletion, one of a later version and one of an earlier version.
    const contact = created('contact', 'con_again', { name: 'first' });
    const deleted = record({ ...contact, version: 3, op: 'deleted' });
    await publish([record(contact), deleted]);
    const before = await countDeadLetters();
    await publish([
      invalid({ ...contact, version: 5 }, 'email'),
      invalid({ ...contact, data: { ...contact.data, name: personal }, version: 2 }, 'email'),
    ]);
    // The repeated deletion erases only the dead letter of the earlier version.
    await publish([deleted]);
    expect({ deadLetters: await countDeadLetters(), collections: await collectionsWith(personal) }).toEqual({
      deadLetters: before + 1,
      collections: [],
    });
    // A later deletion erases the dead letter of the later version.
    await publish([record({ ...contact, version: 6, op: 'deleted' })]);
    expect(await countDeadLetters()).toBe(before);
  });

  test('is erased by a tombstone of its topic only', async () => {
    const tag = created('tag', 'both', { name: personal });
    const channel = created('channel', 'both');
    await publish([record(tag), invalid({ ...tag, version: 2 }, 'id'), invalid(channel, 'name')]);
    const before = await countDeadLetters();
    await publish([record({ ...tag, op: 'tombstone' })]);
    expect(await collectionsWith(personal)).toEqual([]);
    expect(await countDeadLetters()).toBe(before - 1);
    // A dead letter that comes after the tombstone stays.
    await publish([invalid({ ...tag, version: 2 }, 'id')]);
    expect(await countDeadLetters()).toBe(before);
  });

  test('is not erased by a deletion without effect', async () => {
    // The source has created the entity again, and a later record about it is a dead letter.
    const contact = created('contact', 'con_lives', { name: 'first' });
    const deleted = deletion('contact', 'con_lives');
    await publish([record(contact), deleted, record({ ...contact, version: 10 })]);
    const before = await countDeadLetters();
    await publish([invalid({ ...contact, version: 11 }, 'email')]);
    // The repeated deletion has no effect. The deletion of another organization is a dead letter itself.
    const time = new Date();
    const foreign = { kind: 'contact', id: 'con_lives', orgId: 'org_2', op: 'deleted', time } as const;
    await publish([deleted, record({ ...foreign, version: 12 })]);
    expect(await countDeadLetters()).toBe(before + 2);
  });
});
