import type { Document as Stored } from 'mongodb';
import * as verbs from '../../services/cli/rebuild/verbs.ts';
import type { Expectation } from '../../services/operations/rebuild/differences.ts';
import { readAppliedTo } from '../../services/operations/rebuild/pair-sources.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { mongoSweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { sweep } from '../../services/projector/retention/sweep.ts';
import type { HoldCause } from '../../shared/control/hold-causes.ts';
import { progressOf, watermarksOf } from '../../shared/control/progress.ts';
import type { ConversationDocument } from '../../shared/documents/conversation.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { embeddedConversation } from '../../shared/documents/visibility.ts';
import { openDatabases } from '../support/databases.ts';
import { engineDeps } from '../support/engine.ts';
import { useOpened } from '../support/use-opened.ts';
import { present } from './fixture.ts';
import { history, useTwoBuilds } from './two-builds.ts';

describe('two generations of one log', () => {
  const builds = useTwoBuilds();
  const collection: typeof builds.collection = (...of) => builds.collection(...of);
  const runCompare = (expect: Expectation[] = []) =>
    builds.rebuild.run(verbs.compare, { generation: 2, expect });

  /** Changes a document of the build, or with `null` deletes it, while `use` runs. */
  const withPlanted = async <T>(
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

  test.each<[className: string, field: string, kind: Kind, id: string, update: object | null]>([
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
  ])('differ by a planted difference of class %s in %s', async (name, field, kind, id, update) => {
    await withPlanted(kind, id, update, async () => {
      const found = await builds.compare();
      expect(found).toMatchObject({ differences: 1, counts: { [name]: 1 } });
      expect(found.samples).toEqual([{ kind, id, class: name, field }]);
      // and only an expectation of its field or class accepts the difference, for this kind or for any kind
      for (const expectation of [field, name]) {
        for (const anyOrThis of [kind, '*'] as const)
          expect(
            await builds.compare({ expectations: [{ kind: anyOrThis, field: expectation }] }),
          ).toMatchObject({ differences: 0, expected: 1 });
      }
      const others = [
        { kind: 'qa' as const, field },
        { kind: '*' as const, field: `${field}x` },
      ];
      expect(await builds.compare({ expectations: others })).toMatchObject({ differences: 1, expected: 0 });
    });
  });

  test('differ by a document that only the build has', async () => {
    const envelope = { orgId: 'org_1', version: 1, revision: 1, position: null };
    await collection('tag').insertOne({ _id: 'tag_2', ...envelope, state: { name: 'x' }, joined: {} });
    expect((await builds.compare()).samples).toEqual([
      { kind: 'tag', id: 'tag_2', class: 'extra', field: 'extra' },
    ]);
    await collection('tag').deleteOne({ _id: 'tag_2' });
  });

  test('do not differ by messages that the API does not serve, however many there are', async () => {
    const before = await collection('message').findOne({ _id: 'msg_old' });
    const orphans = ['msg_a', 'msg_b', 'msg_c'].map((_id) => ({
      ...(before as Stored),
      _id,
      state: { ...(before?.state as object), id: _id, conversationId: 'conv_gone' },
    }));
    await collection('message').insertMany(orphans);
    expect(await builds.compare({ recheckMax: 2 })).toMatchObject({ differences: 0, isCutShort: false });
    await collection('message').deleteMany({ _id: { $in: orphans.map(({ _id }) => _id) } });
    // and they do not differ by a message that the retention of its conversation has ended
    const day = { $set: { 'state.updatedAt': present, 'joined.channel.dataRetentionDays': 1 } };
    const conversation = await collection('conversation').findOne({ _id: 'conv_1' });
    for (const number of [1, 2]) await collection('conversation', number).updateOne({ _id: 'conv_1' }, day);
    expect(await withPlanted('message', 'msg_1', null, builds.compare)).toMatchObject({ differences: 0 });
    for (const number of [1, 2])
      await collection('conversation', number).replaceOne({ _id: 'conv_1' }, { ...conversation });
  });

  test('are equal despite a missing tombstone document, but not despite one that rejects later events', async () => {
    const deleted = { position: null, deletedAt: present };
    const tombstone = { _id: 'tag_gone', orgId: 'org_1', version: 3, revision: 1, ...deleted };
    await collection('tag', 1).insertOne(tombstone);
    expect(await builds.compare()).toMatchObject({ differences: 0, compared: history.length });
    await collection('tag').insertOne({ ...tombstone, version: 99 });
    expect((await builds.compare()).counts).toEqual({ version: 1 });
    for (const number of [1, 2]) await collection('tag', number).deleteOne({ _id: 'tag_gone' });
  });

  test('are compared completely, however many batches there are', async () => {
    const before = await collection('tag').findOne({ _id: 'tag_1' });
    const many = Array.from({ length: 450 }, (_, index) => ({ ...(before as Stored), _id: `many_${index}` }));
    for (const number of [1, 2]) await collection('tag', number).insertMany(many);
    await collection('tag').updateOne({ _id: 'many_0' }, { $set: { 'state.name': 'other' } });
    expect(await builds.compare()).toMatchObject({ differing: 1, compared: history.length + 450 });
    for (const number of [1, 2]) await collection('tag', number).deleteMany({ _id: /^many_/ });
  });

  test('do not differ by conversations that one generation has purged', async () => {
    // given four conversations, the first of which has expired, and tickets that do not embed the last ones
    const conversation = await collection('conversation').findOne({ _id: 'conv_1' });
    const ticket = await collection('ticket').findOne({ _id: 'ti_1' });
    if (!conversation || !ticket) throw new Error('the documents are missing');
    const { state, joined } = conversation as Stored & ConversationDocument;
    const all = [0, 1, 2, 3].map((index) => {
      const id = `conv_of_${index}`;
      const expired = index === 0 && { updatedAt: new Date('2020-01-01T00:00:00Z') };
      return {
        ...conversation,
        _id: id,
        byCreated: `2026-01-01T00:00:00.000Z${id}`,
        state: { ...state, ...expired, id, ticketId: 'ti_1' },
        joined: { ...joined, channel: { ...joined.channel, dataRetentionDays: expired ? 1 : null } },
      };
    });
    const embed = (number: number, some: typeof all) => {
      const conversations = some.flatMap((one) => embeddedConversation(one.state, one.joined.channel));
      const embedded = { 'joined.conversations': conversations, 'joined.moreAfter': some.at(-1)?.byCreated };
      return collection('ticket', number).updateOne({ _id: 'ti_1' }, { $set: embedded });
    };
    await collection('conversation', 1).insertMany(all);
    await collection('conversation', 2).insertMany(all.slice(1));
    await embed(1, all.slice(0, 2));
    await embed(2, all.slice(1));
    expect((await builds.compare()).samples).toEqual([]);
    // and differ if one generation serves fewer of them
    await embed(2, all.slice(2));
    expect((await builds.compare()).samples).toMatchObject([{ id: 'ti_1', field: 'joined.conversations' }]);
    for (const number of [1, 2]) {
      await collection('conversation', number).deleteMany({ _id: /^conv_of_/ });
      await collection('ticket', number).replaceOne({ _id: 'ti_1' }, ticket);
    }
  });

  test('do not differ by expired data that one of them has purged', async () => {
    const { control, config } = builds.rebuild;
    const swept = await sweep({
      ...engineDeps(mongoStore(builds.rebuild.databaseOf(2)), { now: () => present }),
      sweepStore: mongoSweepStore({
        database: builds.rebuild.databaseOf(2),
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
    // and the generations differed before the conversation expired
    const { counts } = await builds.compare({ now: async () => new Date('2126-03-01T12:00:00Z') });
    expect(counts).toEqual({ joined: 1, missing: 2 });
  });

  test('are compared by the CLI, which stores the result for a promotion', async () => {
    const reported = async () => (await builds.rebuild.registry()).generations[1]?.report;
    expect(await runCompare()).toMatchObject({ exitCode: 0 });
    expect(await reported()).toMatchObject({ at: present, against: 1, differences: 0, expected: 0 });
    expect((await reported())?.lows).toHaveLength(builds.rebuild.topics.length);
    await withPlanted('tag', 'tag_1', { $set: { 'state.name': 'other' } }, async () => {
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

describe('the watermark that a comparison waits for', () => {
  const opened = useOpened(openDatabases);
  test('leaves out the partitions that only an open transaction holds', async () => {
    const { control } = opened;
    const at = (second: number) => new Date(second * 1_000);
    const progress = (topic: string, completeTo: Date, cause: HoldCause) => ({
      ...{ _id: `1/${topic}/0`, generation: 1, topic, partition: 0, applied: { position: 0 }, end: 2 },
      ...{ completeTo, updatedAt: at(60) },
      saved: { cause, waitingSince: null, processId: 'p' },
    });
    await progressOf(control).insertMany([
      progress('tickets', at(10), 'open_transaction'),
      progress('tags', at(30), 'backlog'),
    ]);
    await watermarksOf(control).insertOne({ _id: 1, completeTo: at(10) });
    const watermark = () => readAppliedTo(control, 1);
    // given records of tags that a projector has still to apply
    expect(await watermark()).toEqual(at(30));
    await progressOf(control).updateOne({ topic: 'tags' }, { $set: { completeTo: at(70) } });
    expect(await watermark()).toEqual(at(60));
  });
});
