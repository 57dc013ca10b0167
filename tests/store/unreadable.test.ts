import { compareDocuments } from '../../services/operations/rebuild/compare.ts';
import { betweenGenerations } from '../../services/operations/rebuild/pair-sources.ts';
import { engineOf, verifyDocuments } from '../../services/operations/verify/verify-documents.ts';
import { isRevision } from '../../services/projector/materialize/envelope.ts';
import { mongoSweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { applyChanges, changeOf, deletionOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

type Edit = { name: string; field: string; value: unknown };

/** Edits of an operator; `undefined` removes the field. The list omits edits that leave a valid envelope. */
const edits: Edit[] = ['orgId', 'version', 'revision', 'position'].flatMap((field) =>
  Object.entries({ removed: undefined, null: null, text: 'x', negative: -1, object: { a: 1 } })
    .map(([how, value]) => ({ name: `${field}_${how}`, field, value }))
    .filter(({ name }) => name !== 'position_null' && name !== 'orgId_text'),
);

const dayMs = 86_400_000;
const now = new Date(100 * dayMs);
const longAgo = { createdAt: new Date(0).toISOString(), updatedAt: new Date(0).toISOString() };

/** Each case has its own document. All of these documents are in one batch, with one unedited document. */
describe('a document whose envelope an operator has edited', () => {
  const opened = useEngineStore({ each: true });
  const reported: { notRefreshed: string[]; rewritten: string[] } = { notRefreshed: [], rewritten: [] };
  const deps = () =>
    engineDeps(opened.store, {
      now: () => now,
      onNotRefreshed: (kind, id) => void reported.notRefreshed.push(`${kind} ${id}`),
      onUnreadable: (_, id, field) => void reported.rewritten.push(`${id} ${field}`),
    });
  const apply = async (...events: Event[]) => {
    const changes = events.map((event) => changeOf(event));
    expect(await applyChanges(deps(), events[0]?.kind ?? 'qa', changes)).toEqual([]);
  };
  const applyEach = (event: (name: string) => Event) =>
    apply(...[...edits, { name: 'untouched' }].map(({ name }) => event(name)));
  const editEach = async (kind: Kind, idOf: (name: string) => string, some = edits) => {
    for (const { name, field, value } of some)
      await collectionOf(opened.database, kind).updateOne(
        { _id: idOf(name) },
        value === undefined ? { $unset: { [field]: '' } } : { $set: { [field]: value } },
      );
  };
  const stored = async (kind: Kind, idOf: (name: string) => string, some: { name: string }[] = edits) =>
    Promise.all(some.map(({ name }) => opened.find(kind, idOf(name))));

  const qaOf = (name: string) => `qa_${name}`;
  const given = async () => {
    await applyEach((name) => created('qa', qaOf(name), { question: 'Old?' }, 3));
    await editEach('qa', qaOf);
  };

  beforeEach(() => {
    reported.notRefreshed.length = 0;
    reported.rewritten.length = 0;
  });

  it('is replaced by the next event of its entity', async () => {
    await given();
    await applyEach((name) => created('qa', qaOf(name), { question: 'New?' }, 4));
    for (const document of await stored('qa', qaOf))
      expect(document).toMatchObject({
        orgId: 'org_1',
        version: 4,
        position: { offset: 4 },
        state: { question: 'New?' },
      });
    const revisions = (await stored('qa', qaOf)).map((document) => document?.revision);
    expect(revisions.every(isRevision)).toBe(true);
    expect(reported.rewritten.toSorted()).toEqual(
      edits.map(({ name, field }) => `${qaOf(name)} ${field}`).toSorted(),
    );
  });

  it('is deleted by a deletion of its entity', async () => {
    await given();
    await applyEach((name) => deletionOf(created('qa', qaOf(name)), 4));
    for (const document of await stored('qa', qaOf))
      expect(document).toMatchObject({ version: 4, deletedAt: now });
  });

  it('takes the next record of its entity, also an older one, and the latest after that', async () => {
    await given();
    await applyEach((name) => created('qa', qaOf(name), { question: 'Older?' }, 2));
    for (const document of await stored('qa', qaOf)) expect(document).toMatchObject({ version: 2 });
    await applyEach((name) => created('qa', qaOf(name), { question: 'Latest?' }, 3));
    for (const document of await stored('qa', qaOf)) expect(document).toMatchObject({ version: 3 });
  });

  it('is passed by an event of an entity that it shows, and named; the others show that event', async () => {
    const ticketOf = (name: string) => `ti_${name}`;
    await apply(created('tag', 'tag_1', { name: 'old' }));
    await applyEach((name) => created('ticket', ticketOf(name), { tagIds: ['tag_1'] }));
    await editEach('ticket', ticketOf);
    await apply(created('tag', 'tag_1', { name: 'new' }, 2));
    expect(reported.notRefreshed.toSorted()).toEqual(
      edits.map(({ name }) => `ticket ${ticketOf(name)}`).toSorted(),
    );
    const shown = { joined: { tags: [{ name: 'new' }] } };
    expect(await opened.find('ticket', ticketOf('untouched'))).toMatchObject(shown);
  });

  it('does not stop the documents that show it, and they show its next version', async () => {
    const tagOf = (name: string) => `tag_${name}`;
    const ticketOf = (name: string) => `ti_${name}`;
    await applyEach((name) => created('tag', tagOf(name), { name: 'old' }));
    await editEach('tag', tagOf);
    await applyEach((name) => created('ticket', ticketOf(name), { tagIds: [tagOf(name)] }));
    await applyEach((name) => created('tag', tagOf(name), { name: 'new' }, 2));
    for (const ticket of await stored('ticket', ticketOf))
      expect(ticket).toMatchObject({ joined: { tags: [{ name: 'new' }] } });
  });

  it('is purged by the sweep like any other', async () => {
    const messageOf = (name: string) => `msg_${name}`;
    const orphanOf = (name: string) => `msg_orphan_${name}`;
    const conversationOf = (name: string) => `conv_${name}`;
    await apply(created('channel', 'ch_1', { dataRetentionDays: 30 }));
    const conversation = (id: string) => created('conversation', id, { ...longAgo, channelId: 'ch_1' });
    await apply(conversation('conv_1'));
    await applyEach((name) => conversation(conversationOf(name)));
    const message = (id: string, conversationId: string) =>
      created('message', id, { ...longAgo, conversationId });
    await applyEach((name) => message(messageOf(name), 'conv_1'));
    await applyEach((name) => message(orphanOf(name), 'conv_missing'));
    await collectionOf(opened.database, 'message').updateMany(
      { orphanedAt: { $exists: true } },
      { $set: { orphanedAt: new Date(0) } },
    );
    // A document of another organization does not belong to this channel.
    const own = edits.filter(({ field }) => field !== 'orgId');
    await editEach('message', messageOf, own);
    await editEach('message', orphanOf);
    await editEach('conversation', conversationOf, own);
    const { database, control } = opened;
    const sweepStore = mongoSweepStore({ database, control, prefix: 'hu', now: () => now });
    await sweep({ ...deps(), sweepStore, isComplete: true, asOf: new Date(99 * dayMs) });
    for (const kind of ['message', 'conversation'] as const)
      expect(await collectionOf(database, kind).countDocuments({ state: { $exists: true } })).toBe(0);
    expect(reported.notRefreshed).toEqual([]);
  });

  it('is named by verify and by a comparison, and so is one without a state', async () => {
    await given();
    await applyEach((name) => created('qa', `${qaOf(name)}_2`));
    await collectionOf(opened.database, 'qa').updateOne({ _id: 'qa_untouched' }, { $unset: { state: '' } });
    const side = { database: opened.database, number: 1 };
    const options = { expectations: [], report: () => undefined, now: async () => now };
    const watermarks = async () => [new Date(now.getTime() + 1)];
    const unreadable = [...edits, { name: 'untouched', field: 'state' }]
      .map(({ name, field }) => ({ kind: 'qa', id: qaOf(name), class: 'unreadable', field }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const source = { ...betweenGenerations(opened, side, side), watermarks };
    expect((await compareDocuments(source, options)).samples).toEqual(unreadable);
    const ids = unreadable.map(({ id }) => id);
    const engine = engineOf(opened.database, now);
    const { differing, left } = await verifyDocuments(engine, 'qa', ids, { isRepair: true });
    expect([...differing].toSorted()).toEqual(unreadable.map(({ id, field }) => [id, [field]]));
    expect([...left.keys()].toSorted()).toEqual(ids);
  });

  it('is written by one of two workers that write it at the same time', async () => {
    await given();
    const { unreadable } = await opened.store.readCurrent(
      'qa',
      edits.map(({ name }) => qaOf(name)),
    );
    expect(unreadable).toHaveLength(edits.length);
    const write = () =>
      opened.store.write(
        'qa',
        unreadable.map(({ _id, guard }) => {
          const document = { _id, orgId: 'org_1', version: 1, revision: 7, position: null };
          return { op: 'put' as const, document, guard };
        }),
      );
    expect((await write()).conflicted.size).toBe(0);
    expect((await write()).conflicted.size).toBe(edits.length);
  });
});
