import { BSON } from 'mongodb';
import type { Kind } from '../../shared/documents/document.ts';
import type { Document } from '../../shared/documents/entity.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { largestConversation, largestMessage, largestTicket } from '../support/largest-documents.ts';
import { useEngineStore } from './engine-store.ts';

/**
 * In bytes: a ticket 11,474,158, of which 7.7 MB are the ids and names of 2,000 tags and topics, 1.6 MB their ids in
 * its state and 1.6 MB those in its references; a conversation 11,027,251; a message 8,408,865, of which 8 MB are its
 * state.
 */
const documentBytesMax = 16 * 1024 * 1024;
/** For the engine's own fields: cursor, positions and marks. */
const engineBytes = 64 * 1024;

type Stored = Document<unknown, unknown>;

const largest: [Kind, Stored][] = [
  ['ticket', largestTicket()],
  ['conversation', largestConversation()],
  ['message', largestMessage()],
];

describe('the largest documents that the limits of lists and texts allow', () => {
  const opened = useEngineStore();

  test.each(largest)('a %s stays below the size limit of the store', (_, document) => {
    const bytes = BSON.calculateObjectSize(document);
    expect(bytes).toBeGreaterThan(documentBytesMax / 2);
    expect(bytes + engineBytes).toBeLessThan(documentBytesMax);
  });

  test.each(largest)('a %s can be inserted and replaced, with its index entries', async (kind, document) => {
    const collection = collectionOf<Stored>(opened.database, kind);
    await collection.insertOne(document);
    const { _id, revision, ...remaining } = document;
    const filter = { _id, revision };
    const replacement = { ...remaining, revision: 1 };
    const { modifiedCount } = await collection.bulkWrite([
      { replaceOne: { filter, replacement, upsert: true } },
    ]);
    expect(modifiedCount).toBe(1);
    // then the index of references finds it by the last reference
    const last = document.refs.at(-1) ?? '';
    const found = await collection
      .find({ refs: { $in: [last] }, orgId: document.orgId }, { projection: { _id: 1 } })
      .toArray();
    expect(found).toEqual([{ _id }]);
  });
});
