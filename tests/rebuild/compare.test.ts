import type { Document as Stored } from 'mongodb';
import * as verbs from '../../services/cli/rebuild/verbs.ts';
import type { Expectation } from '../../services/operations/rebuild/differences.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { mongoSweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import type { ConversationDocument } from '../../shared/documents/conversation.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { embeddedConversation } from '../../shared/documents/visibility.ts';
import { engineDeps } from '../support/engine.ts';
import { present } from './fixture.ts';
import { history, useTwoBuilds } from './two-builds.ts';

describe('two generations of one log', () => {
  const builds = useTwoBuilds();
  const collection: typeof builds.collection = (...of) => builds.collection(...of);
  const runCompare = (expect: Expectation[] = []) =>
    builds.rebuild.run(verbs.printComparison, { generation: 2, expect });

  /** Changes a document of the build, or deletes it if the update is null, while `use` runs. */
  const withChange = async <T>(
    kind: Kind,
    id: string,
    update: object | null,
    use: () => Promise<T>,
  ): Promise<T> => {
    const before = await collection(kind).findOne({ _id: id });
    if (!before) throw new Error(`there is no ${id}`);
    if (update) await collection(kind).updateOne({ _id: id }, update);
    else await collection(kind).deleteOne({ _id: id });
    try {
      return await use();
    } finally {
      await collection(kind).replaceOne({ _id: id }, before, { upsert: true });
    }
  };

  test('have equal documents', async () => {
    const equal = { differences: 0, expected: 0, counts: {}, isCutShort: false, compared: history.length };
    expect(await builds.compare()).toMatchObject(equal);
  });

  const changes = [
    ['missing', 'missing', 'message', 'msg_1', null],
    ['state', 'orgId', 'tag', 'tag_1', { $set: { orgId: 'org_2' } }],
    ['state', 'state.title', 'ticket', 'ti_1', { $set: { 'state.title': 'Other' } }],
    ['joined', 'joined.tags', 'ticket', 'ti_1', { $set: { 'joined.tags': [] } }],
    ['joined', 'joined.conversations', 'ticket', 'ti_1', { $set: { 'joined.conversations': [] } }],
    ['sort-key', 'byCreated', 'message', 'msg_1', { $set: { byCreated: 'x' } }],
    ['sort-key', 'byUpdated', 'ticket', 'ti_1', { $unset: { byUpdated: '' } }],
    ['pending', 'pending', 'conversation', 'conv_1', { $set: { pending: true } }],
    ['refs', 'refs', 'ticket', 'ti_1', { $unset: { refs: '' } }],
    ['version', 'version', 'ticket', 'ti_1', { $set: { version: 99 } }],
  ] as const;

  test.each(changes)('differ by a change of class %s in %s', async (className, field, kind, id, update) => {
    await withChange(kind, id, update, async () => {
      const comparison = await builds.compare();
      expect(comparison).toMatchObject({ differences: 1, counts: { [className]: 1 } });
      expect(comparison.samples).toEqual([{ kind, id, class: className, field }]);
    });
  });

  test.each(changes)(
    'have only an intended difference if it is expected: class %s, %s',
    async (className, field, kind, id, update) => {
      await withChange(kind, id, update, async () => {
        for (const expected of [field, className]) {
          for (const expectedKind of [kind, '*'] as const) {
            const expectations = [{ kind: expectedKind, field: expected }];
            expect(await builds.compare({ expectations })).toMatchObject({ differences: 0, expected: 1 });
          }
        }
        const unrelated = [
          { kind: 'qa' as const, field },
          { kind: '*' as const, field: `${field}x` },
        ];
        expect(await builds.compare({ expectations: unrelated })).toMatchObject({
          differences: 1,
          expected: 0,
        });
      });
    },
  );

  test('differ by a document that only the build has', async () => {
    const envelope = { orgId: 'org_1', version: 1, revision: 1, position: null };
    await collection('tag').insertOne({ _id: 'tag_2', ...envelope, state: { name: 'x' }, joined: {} });
    expect((await builds.compare()).samples).toEqual([
      { kind: 'tag', id: 'tag_2', class: 'extra', field: 'extra' },
    ]);
    await collection('tag').deleteOne({ _id: 'tag_2' });
  });

  test('do not differ by messages that the API does not serve because they have no conversation', async () => {
    const before = await collection('message').findOne({ _id: 'msg_old' });
    const orphans = ['msg_a', 'msg_b', 'msg_c'].map((_id) => ({
      ...(before as Stored),
      _id,
      state: { ...(before?.state as object), id: _id, conversationId: 'conv_gone' },
    }));
    await collection('message').insertMany(orphans);
    expect(await builds.compare({ recheckAtMost: 2 })).toMatchObject({ differences: 0, isCutShort: false });
    await collection('message').deleteMany({ _id: { $in: orphans.map(({ _id }) => _id) } });
  });

  test('do not differ by a message that the retention of its conversation has ended', async () => {
    const day = { $set: { 'state.updatedAt': present, 'joined.channel.dataRetentionDays': 1 } };
    const conversation = await collection('conversation').findOne({ _id: 'conv_1' });
    for (const number of [1, 2]) await collection('conversation', number).updateOne({ _id: 'conv_1' }, day);
    expect(await withChange('message', 'msg_1', null, builds.compare)).toMatchObject({ differences: 0 });
    for (const number of [1, 2])
      await collection('conversation', number).replaceOne({ _id: 'conv_1' }, { ...conversation });
  });

  describe('of which one has a tombstone document', () => {
    const tombstone = {
      _id: 'tag_gone',
      orgId: 'org_1',
      version: 3,
      revision: 1,
      position: null,
      deletedAt: present,
    };
    beforeEach(() => collection('tag', 1).insertOne(tombstone));
    afterEach(async () => {
      for (const number of [1, 2]) await collection('tag', number).deleteOne({ _id: 'tag_gone' });
    });

    test('do not differ if the other one has no document', async () => {
      expect(await builds.compare()).toMatchObject({ differences: 0, compared: history.length });
    });

    test('differ if the tombstone document of the other one rejects later events', async () => {
      await collection('tag').insertOne({ ...tombstone, version: 99 });
      expect((await builds.compare()).counts).toEqual({ version: 1 });
    });
  });

  test('are compared completely if they need several batches', async () => {
    const before = await collection('tag').findOne({ _id: 'tag_1' });
    const copies = Array.from({ length: 450 }, (_, index) => ({
      ...(before as Stored),
      _id: `copy_${index}`,
    }));
    for (const number of [1, 2]) await collection('tag', number).insertMany(copies);
    await collection('tag').updateOne({ _id: 'copy_0' }, { $set: { 'state.name': 'other' } });
    expect(await builds.compare()).toMatchObject({ differing: 1, compared: history.length + 450 });
    for (const number of [1, 2]) await collection('tag', number).deleteMany({ _id: /^copy_/ });
  });

  describe('of which one has purged an expired conversation', () => {
    /** Four conversations of a ticket, the first of which has expired. Tickets embed some of them. */
    const storeConversations = async () => {
      const template = await collection('conversation').findOne({ _id: 'conv_1' });
      if (!template) throw new Error('there is no conversation');
      const { state, joined } = template as Stored & ConversationDocument;
      const conversations = [0, 1, 2, 3].map((index) => {
        const isExpired = index === 0;
        const id = `conv_of_${index}`;
        const updatedAt = isExpired ? new Date('2020-01-01T00:00:00Z') : state.updatedAt;
        return {
          ...template,
          _id: id,
          byCreated: `2026-01-01T00:00:00.000Z${id}`,
          state: { ...state, updatedAt, id, ticketId: 'ti_1' },
          joined: { ...joined, channel: { ...joined.channel, dataRetentionDays: isExpired ? 1 : null } },
        };
      });
      await collection('conversation', 1).insertMany(conversations);
      await collection('conversation', 2).insertMany(conversations.slice(1));
      return conversations;
    };
    type Conversations = Awaited<ReturnType<typeof storeConversations>>;
    const embed = (number: number, conversations: Conversations) => {
      const embedded = conversations.flatMap(({ state, joined }) =>
        embeddedConversation(state, joined.channel),
      );
      const moreAfter = conversations.at(-1)?.byCreated;
      const embedding = { 'joined.conversations': embedded, 'joined.moreAfter': moreAfter };
      return collection('ticket', number).updateOne({ _id: 'ti_1' }, { $set: embedding });
    };

    let ticket: Stored | null;
    beforeEach(async () => {
      ticket = await collection('ticket').findOne({ _id: 'ti_1' });
    });
    afterEach(async () => {
      for (const number of [1, 2]) {
        await collection('conversation', number).deleteMany({ _id: /^conv_of_/ });
        await collection('ticket', number).replaceOne({ _id: 'ti_1' }, ticket as Stored);
      }
    });

    test('do not differ if both embed the first conversations that they serve', async () => {
      const conversations = await storeConversations();
      await embed(1, conversations.slice(0, 2));
      await embed(2, conversations.slice(1));
      expect((await builds.compare()).samples).toEqual([]);
    });

    test('differ if one embeds fewer conversations', async () => {
      const conversations = await storeConversations();
      await embed(1, conversations.slice(0, 2));
      await embed(2, conversations.slice(2));
      expect((await builds.compare()).samples).toMatchObject([{ id: 'ti_1', field: 'joined.conversations' }]);
    });
  });

  test('do not differ by expired data that one generation has purged', async () => {
    const { control, config } = builds.rebuild;
    const swept = await sweep({
      ...engineDeps(mongoStore(builds.rebuild.databaseOf(2)), { now: () => present }),
      sweepStore: mongoSweepStore({
        database: builds.rebuild.databaseOf(2),
        generation: 2,
        control,
        prefix: config.TOPIC_PREFIX,
        now: () => present,
      }),
      asOf: present,
      isComplete: false,
    });
    expect(swept).toEqual({ conversations: 1, messages: 1 });
    const states = { state: { $exists: true } };
    expect(await collection('conversation', 1).countDocuments(states)).toBe(2);
    expect(await collection('conversation', 2).countDocuments(states)).toBe(1);
    expect(await builds.compare()).toMatchObject({ differences: 0 });
    // At an earlier time, at which the conversation had not expired, the generations differ.
    const { counts } = await builds.compare({ now: async () => new Date('2126-03-01T12:00:00Z') });
    expect(counts).toEqual({ joined: 1, missing: 2 });
  });

  test('are compared by `rebuild compare`, which stores the result for a promotion', async () => {
    const reported = async () => (await builds.rebuild.registry()).generations[1]?.report;
    expect(await runCompare()).toMatchObject({ exitCode: 0 });
    expect(await reported()).toMatchObject({ at: present, against: 1, differences: 0, expected: 0 });
    expect((await reported())?.lows).toHaveLength(builds.rebuild.topics.length);
    await withChange('tag', 'tag_1', { $set: { 'state.name': 'other' } }, async () => {
      const { text, exitCode } = await runCompare();
      expect(exitCode).toBe(1);
      expect(text).toContain('1 differ, with 1 unintended, 0 intended differences');
      expect(text).toContain('tag tag_1  state state.name');
      expect(await reported()).toMatchObject({ differences: 1, expected: 0 });
      const expectations = [{ kind: 'tag' as const, field: 'state.name' }];
      expect(await runCompare(expectations)).toMatchObject({ exitCode: 0 });
      expect(await reported()).toMatchObject({ differences: 0, expected: 1, expectations, by: 'ann@host' });
    });
    const { history: transitions } = await builds.rebuild.registry();
    expect(transitions.at(-1)).toMatchObject({ generation: 2, by: 'ann@host', from: 'ready', to: 'ready' });
  });
});
