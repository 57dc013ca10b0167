import type { Document, UpdateFilter } from 'mongodb';
import { compareDocuments } from '../../services/operations/rebuild/compare.ts';
import { createPairSource } from '../../services/operations/rebuild/pair-sources.ts';
import { engineOf, verifyDocuments } from '../../services/operations/verify/verify-documents.ts';
import { isRevision } from '../../services/projector/materialize/envelope.ts';
import { mongoSweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { applyChanges, changeOf, deletionOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

type Edit = { name: string; field: string; value: unknown };

const wrongValues = { removed: undefined, null: null, text: 'x', negative: -1, object: { a: 1 } };
const leavesValid = ({ name }: Edit) => name === 'position_null' || name === 'orgId_text';

/** Edits of an operator that make an envelope invalid; `undefined` removes the field. */
const edits: Edit[] = [];
for (const field of ['orgId', 'version', 'revision', 'position']) {
  for (const [how, value] of Object.entries(wrongValues)) {
    const edit = { name: `${field}_${how}`, field, value };
    if (!leavesValid(edit)) edits.push(edit);
  }
}

const now = new Date(100 * dayMs);
const longAgo = { createdAt: new Date(0).toISOString(), updatedAt: new Date(0).toISOString() };

/** Each test edits one document for each edit. A batch contains all of these documents and one unedited document. */
describe('a document whose envelope an operator has edited', () => {
  const opened = useEngineStore({ each: true });
  const reported: { notRefreshed: string[]; rewritten: string[] } = { notRefreshed: [], rewritten: [] };
  const deps = () =>
    engineDeps(opened.store, {
      now: () => now,
      onNotRefreshed: (kind, id) => {
        reported.notRefreshed.push(`${kind} ${id}`);
      },
      onUnreadable: (_, id, field) => {
        reported.rewritten.push(`${id} ${field}`);
      },
    });
  const apply = async (...events: Event[]) => {
    const changes = events.map((event) => changeOf(event));
    expect(await applyChanges(deps(), events[0]?.kind ?? 'qa', changes)).toEqual([]);
  };
  const applyEach = (event: (name: string) => Event) => {
    const names = [...edits.map(({ name }) => name), 'untouched'];
    return apply(...names.map(event));
  };
  const editEach = async (kind: Kind, idOf: (name: string) => string, appliedEdits = edits) => {
    for (const { name, field, value } of appliedEdits) {
      const update: UpdateFilter<Document> =
        value === undefined ? { $unset: { [field]: '' } } : { $set: { [field]: value } };
      await collectionOf(opened.database, kind).updateOne({ _id: idOf(name) }, update);
    }
  };
  const findEdited = async (kind: Kind, idOf: (name: string) => string) =>
    Promise.all(edits.map(({ name }) => opened.find(kind, idOf(name))));

  const qaId = (name: string) => `qa_${name}`;
  const storeEditedQas = async () => {
    await applyEach((name) => created('qa', qaId(name), { question: 'Old?' }, 3));
    await editEach('qa', qaId);
  };

  beforeEach(() => {
    reported.notRefreshed.length = 0;
    reported.rewritten.length = 0;
  });

  test('is replaced by the next event of its entity', async () => {
    await storeEditedQas();
    await applyEach((name) => created('qa', qaId(name), { question: 'New?' }, 4));
    const documents = await findEdited('qa', qaId);
    for (const document of documents)
      expect(document).toMatchObject({
        orgId: 'org_1',
        version: 4,
        position: { offset: 4 },
        state: { question: 'New?' },
      });
    expect(documents.every((document) => isRevision(document?.revision))).toBe(true);
    const edited = edits.map(({ name, field }) => `${qaId(name)} ${field}`);
    expect(reported.rewritten.toSorted()).toEqual(edited.toSorted());
  });

  test('is deleted by a deletion of its entity', async () => {
    await storeEditedQas();
    await applyEach((name) => deletionOf(created('qa', qaId(name)), 4));
    for (const document of await findEdited('qa', qaId))
      expect(document).toMatchObject({ version: 4, deletedAt: now });
  });

  test('accepts an older record of its entity and then the latest one', async () => {
    await storeEditedQas();
    await applyEach((name) => created('qa', qaId(name), { question: 'Older?' }, 2));
    for (const document of await findEdited('qa', qaId)) expect(document).toMatchObject({ version: 2 });
    await applyEach((name) => created('qa', qaId(name), { question: 'Latest?' }, 3));
    for (const document of await findEdited('qa', qaId)) expect(document).toMatchObject({ version: 3 });
  });

  test('is reported but does not stop an event of an entity that it embeds', async () => {
    const ticketId = (name: string) => `ti_${name}`;
    await apply(created('tag', 'tag_1', { name: 'old' }));
    await applyEach((name) => created('ticket', ticketId(name), { tagIds: ['tag_1'] }));
    await editEach('ticket', ticketId);
    await apply(created('tag', 'tag_1', { name: 'new' }, 2));
    const edited = edits.map(({ name }) => `ticket ${ticketId(name)}`);
    expect(reported.notRefreshed.toSorted()).toEqual(edited.toSorted());
    const untouched = await opened.find('ticket', ticketId('untouched'));
    expect(untouched).toMatchObject({ joined: { tags: [{ name: 'new' }] } });
  });

  test('appears in the documents that embed it from its next version on', async () => {
    const tagId = (name: string) => `tag_${name}`;
    const ticketId = (name: string) => `ti_${name}`;
    await applyEach((name) => created('tag', tagId(name), { name: 'old' }));
    await editEach('tag', tagId);
    await applyEach((name) => created('ticket', ticketId(name), { tagIds: [tagId(name)] }));
    await applyEach((name) => created('tag', tagId(name), { name: 'new' }, 2));
    for (const ticket of await findEdited('ticket', ticketId))
      expect(ticket).toMatchObject({ joined: { tags: [{ name: 'new' }] } });
  });

  test('is purged by the sweep like every document', async () => {
    const messageId = (name: string) => `msg_${name}`;
    const orphanId = (name: string) => `msg_orphan_${name}`;
    const editedConversationId = (name: string) => `conv_${name}`;
    await apply(created('channel', 'ch_1', { dataRetentionDays: 30 }));
    const conversation = (id: string) => created('conversation', id, { ...longAgo, channelId: 'ch_1' });
    await apply(conversation('conv_1'));
    await applyEach((name) => conversation(editedConversationId(name)));
    const message = (id: string, conversationId: string) =>
      created('message', id, { ...longAgo, conversationId });
    await applyEach((name) => message(messageId(name), 'conv_1'));
    await applyEach((name) => message(orphanId(name), 'conv_missing'));
    await collectionOf(opened.database, 'message').updateMany(
      { orphanedAt: { $exists: true } },
      { $set: { orphanedAt: new Date(0) } },
    );
    // An edited organization would move the document out of its channel, whose retention would then not apply.
    const editsOfOtherFields = edits.filter(({ field }) => field !== 'orgId');
    await editEach('message', messageId, editsOfOtherFields);
    await editEach('message', orphanId);
    await editEach('conversation', editedConversationId, editsOfOtherFields);
    const { database, control } = opened;
    const sweepStore = mongoSweepStore({ database, control, prefix: 'hu', generation: 1, now: () => now });
    await sweep({ ...deps(), sweepStore, isComplete: true, asOf: new Date(99 * dayMs) });
    for (const kind of ['message', 'conversation'] as const)
      expect(await collectionOf(database, kind).countDocuments({ state: { $exists: true } })).toBe(0);
    expect(reported.notRefreshed).toEqual([]);
  });

  test('is reported by verify and by a comparison, like a document without a state', async () => {
    await storeEditedQas();
    await applyEach((name) => created('qa', `${qaId(name)}_2`));
    await collectionOf(opened.database, 'qa').updateOne({ _id: 'qa_untouched' }, { $unset: { state: '' } });
    const side = { database: opened.database, number: 1 };
    const options = { expectations: [], report: () => undefined, now: async () => now };
    const watermarks = async () => [new Date(now.getTime() + 1)];
    const unreadable = [...edits, { name: 'untouched', field: 'state' }].map(({ name, field }) => ({
      kind: 'qa',
      id: qaId(name),
      class: 'unreadable',
      field,
    }));
    unreadable.sort((a, b) => (a.id < b.id ? -1 : 1));
    const source = { ...createPairSource(opened, side, side), watermarks };
    const { samples } = await compareDocuments(source, options);
    expect(samples).toEqual(unreadable);
    const ids = unreadable.map(({ id }) => id);
    const engine = engineOf(opened.database, now);
    const { differing, notRepaired } = await verifyDocuments(engine, 'qa', ids, { isRepair: true });
    expect([...differing].toSorted()).toEqual(unreadable.map(({ id, field }) => [id, [field]]));
    expect([...notRepaired.keys()].toSorted()).toEqual(ids);
  });

  test('accepts only one of two concurrent writes', async () => {
    await storeEditedQas();
    const ids = edits.map(({ name }) => qaId(name));
    const { unreadable } = await opened.store.readCurrent('qa', ids);
    expect(unreadable).toHaveLength(edits.length);
    const writes = unreadable.map(({ _id, guard }) => {
      const document = { _id, orgId: 'org_1', version: 1, revision: 7, position: null };
      return { op: 'put' as const, document, guard };
    });
    const first = await opened.store.write('qa', writes);
    const second = await opened.store.write('qa', writes);
    expect(first.conflicted.size).toBe(0);
    expect(second.conflicted.size).toBe(edits.length);
  });
});
