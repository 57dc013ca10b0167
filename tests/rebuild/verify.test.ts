import { MongoClient } from 'mongodb';
import type { VerifyResult } from '../../services/operations/verify/result.ts';
import { verify, type VerifyOptions } from '../../services/operations/verify/verify.ts';
import { processesOf, type Projector } from '../../shared/control/processes.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { monitorCommands } from '../support/monitor-commands.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { present, secondsBefore } from './fixture.ts';
import { history, useTwoBuilds } from './two-builds.ts';

const usual = { isRepair: true, timeoutSeconds: 0, why: 'test' };

describe('verify', () => {
  const builds = useTwoBuilds();
  const collection = (kind: Kind) => builds.collection(kind, 1);
  const deps = (changes: object = {}) => ({ ...builds.rebuild.deps(changes), cli: 'cli' });
  const repair = (kind: Kind, options: Partial<VerifyOptions> = {}) =>
    verify(deps(), { ...usual, kind, ...options });
  const compareOnly = (options: Partial<VerifyOptions> = {}) =>
    verify(deps(), { ...usual, isRepair: false, ...options });
  const stored = async (kind: Kind, id: string) => collection(kind).findOne({ _id: id });
  const historyOf = async () => (await builds.rebuild.registry()).history;
  const lastWhy = async () => (await historyOf()).at(-1)?.why;
  /** Documents as an operator's edit, or a fault of the projector, leaves them. */
  const edit = (kind: Kind, _id: string, update: object) => collection(kind).updateOne({ _id }, update);
  const correct: Partial<VerifyResult> = { differing: 0, repaired: 0, fields: {}, samples: [], absent: [] };

  test('finds no difference in documents that a projector has written', async () => {
    expect(await compareOnly()).toEqual({ generation: 1, ...correct, compared: history.length });
  });

  test('repairs wrong joined fields, references and sort keys', async () => {
    const before = await stored('ticket', 'ti_1');
    await edit('ticket', 'ti_1', {
      $set: { 'joined.tags': [], refs: [], byCreated: 'wrong' },
      $unset: { 'joined.requester': '' },
    });
    expect(await repair('ticket', { ids: ['ti_1'] })).toMatchObject({
      compared: 1,
      differing: 1,
      repaired: 1,
      fields: {
        'ticket joined.tags': 1,
        'ticket joined.requester': 1,
        'ticket refs': 1,
        'ticket byCreated': 1,
      },
    });
    const after = await stored('ticket', 'ti_1');
    expect({ ...after, revision: 0 }).toEqual({ ...before, revision: 0 });
    expect(after?.revision).not.toBe(before?.revision);
    expect(await lastWhy()).toBe('verify --repair: 1 of 1 ticket document (ti_1) repaired; test');
  });

  test('names at most five ids of a repair in the history', async () => {
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    await repair('ticket', { ids: ['ti_1', ...'abcdefg'] });
    expect(await lastWhy()).toBe(
      'verify --repair: 1 of 1 ticket document (ti_1, a, b, c, d and 3 more) repaired; test',
    );
  });

  test('does not write a correct document in a repair', async () => {
    const before = await stored('ticket', 'ti_1');
    expect(await repair('ticket')).toMatchObject({ compared: 1, differing: 0 });
    expect(await stored('ticket', 'ti_1')).toEqual(before);
  });

  test('shows a wrong document and changes nothing without a repair', async () => {
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    const before = [await stored('ticket', 'ti_1'), await historyOf()];
    expect(await compareOnly()).toMatchObject({
      differing: 1,
      repaired: 0,
      samples: [{ kind: 'ticket', id: 'ti_1', fields: ['joined.tags'] }],
    });
    expect([await stored('ticket', 'ti_1'), await historyOf()]).toEqual(before);
    await repair('ticket');
    expect(await compareOnly()).toMatchObject(correct);
  });

  test('finds a document whose joined entity has changed without a fan-out', async () => {
    await edit('tag', 'tag_1', { $set: { 'state.name': 'renamed' } });
    const samples = [{ kind: 'ticket', id: 'ti_1', fields: ['joined.tags'], reason: null }];
    expect(await compareOnly()).toMatchObject({ differing: 1, samples });
    await edit('tag', 'tag_1', { $set: { 'state.name': 'billing' } });
    await repair('ticket');
  });

  test('names a document that an edit has broken, and the way to correct it', async () => {
    await edit('tag', 'tag_1', { $set: { 'state.name': 7 } });
    const reason = 'state.name cannot be read: an event of its own rewrites it';
    expect(await repair('tag', { ids: ['tag_1'] })).toMatchObject({
      differing: 1,
      repaired: 0,
      samples: [{ kind: 'tag', id: 'tag_1', fields: ['state.name'], reason }],
    });
    await edit('tag', 'tag_1', { $set: { 'state.name': 'billing' } });
    await repair('ticket');
  });

  test('names the ids that have no document', async () => {
    expect(await repair('tag', { ids: ['tag_1', 'tag_none'] })).toMatchObject({ absent: ['tag_none'] });
  });

  test('leaves a document unchanged that only its own event can correct', async () => {
    await edit('conversation', 'conv_1', { $set: { 'joined.contact': null, pending: true } });
    await edit('message', 'msg_1', { $set: { 'state.createdAt': 'yesterday' } });
    const everyDocument = { ...usual, why: 'nightly' };
    expect(await verify(deps(), everyDocument)).toMatchObject({ differing: 2, repaired: 1 });
    expect(await lastWhy()).toBe(
      `verify --repair: 1 of ${history.length} documents repaired, 1 left as they are; nightly`,
    );
    const createdAt = new Date('2126-03-01T00:00:00Z');
    await edit('message', 'msg_1', { $set: { 'state.createdAt': createdAt } });
    expect(await repair('message')).toMatchObject({ differing: 1, repaired: 1 });
  });

  test('leaves an archived channel unchanged that a list shows', async () => {
    const createdAt = new Date('2126-03-01T00:00:00Z');
    await edit('channel', 'chan_1', { $set: { 'state.archivedAt': createdAt } });
    expect(await repair('channel', { ids: ['chan_1'] })).toMatchObject({
      differing: 1,
      repaired: 0,
      samples: [{ id: 'chan_1', fields: ['byCreated'] }],
    });
    await edit('channel', 'chan_1', { $set: { 'state.archivedAt': null } });
    expect(await compareOnly()).toMatchObject(correct);
  });

  test('compares a document again that differs because its projector lags', async () => {
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    const report = (line: string) => {
      if (line.includes('comparing again')) repaired = repair('ticket');
    };
    let repaired: Promise<unknown> = Promise.resolve();
    const afterRepair = async () => {
      await repaired;
      return present;
    };
    const caughtUp = { ...deps({ report }), now: afterRepair };
    expect(await verify(caughtUp, { ...usual, isRepair: false, kind: 'ticket' })).toMatchObject(correct);
  });

  test('reads documents page by page without an open cursor', async () => {
    const { rebuild } = builds;
    const template = await stored('tag', 'tag_1');
    const copies = Array.from({ length: 450 }, (_, index) => {
      const id = `tag_copy_${String(index).padStart(3, '0')}`;
      return { ...template, _id: id, state: { ...(template?.state as object), id } };
    });
    await collection('tag').insertMany(copies);
    const mongo = monitorCommands(rebuild.mongo);
    const sent: string[] = [];
    const onStarted = ({ commandName }: { commandName: string }) => sent.push(commandName);
    mongo.on('commandStarted', onStarted);
    try {
      expect(await compareOnly({ kind: 'tag' })).toMatchObject({ compared: 451, differing: 0 });
      expect(await compareOnly({ kind: 'tag', after: 'tag_copy_199' })).toMatchObject({ compared: 250 });
      await builds.compare();
    } finally {
      mongo.off('commandStarted', onStarted);
    }
    expect(sent).not.toContain('getMore');
    await collection('tag').deleteMany({ _id: /^tag_copy/ });
  });

  test('prints the command that continues a failed run', async () => {
    const { control } = builds.rebuild;
    const reported: string[] = [];
    const report = (line: string) => reported.push(line);
    const serve = (generation: number) =>
      control.collection('generations').updateOne({}, { $set: { generation } });
    // Another generation is served after the first batch.
    let clockReads = 0;
    const now = async () => {
      clockReads += 1;
      if (clockReads === 1) await serve(2);
      return present;
    };
    await collection('channel').updateMany({}, { $set: { 'joined.agent': {} } });
    const paced = verify(deps({ now, report }), { ...usual, isRepair: false, kind: 'channel', pace: 1 });
    await expect(paced).rejects.toThrow('generation 2 is served now, no longer 1');
    expect(reported.at(-1)).toBe('to continue: cli verify channel --after chan_1');
    await serve(1);
    const failing = () => Promise.reject(new Error('MongoDB is gone'));
    const unavailable = verify(deps({ now: failing, report }), { ...usual, isRepair: false });
    await expect(unavailable).rejects.toThrow('MongoDB is gone');
    const remainingCommands = kinds.slice(kinds.indexOf('contact')).map((kind) => `cli verify ${kind}`);
    expect(reported.at(-1)).toBe(`to continue: ${remainingCommands.join('; ')}`);
    await repair('channel');
  });

  test('names a document in the history although the reply to its repair is lost', async () => {
    const { trouble, listen, cut } = createStoreProxy(builds.rebuild.config.MONGODB_URL);
    const mongo = await new MongoClient(proxiedUrl(await listen(), 'retryWrites=false')).connect();
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    trouble.repliesToLose = 1;
    const repairing = verify(deps({ mongo }), { ...usual, kind: 'ticket', ids: ['ti_1'] });
    await expect(repairing).rejects.toThrow('closed');
    expect(await stored('ticket', 'ti_1')).toMatchObject({ joined: { tags: [{ id: 'tag_1' }] } });
    expect(await lastWhy()).toMatch(
      /^verify --repair stopped \(.*closed\): at least 0 of 0 ticket documents \(ti_1\) repaired; test$/,
    );
    await mongo.close();
    await cut();
  });

  describe('a repair of documents that projectors of another release may write', () => {
    const otherProgress = {
      _id: 'other',
      generation: 1,
      topic: 'other',
      partition: 0,
      applied: { position: 0 },
      end: 0,
      completeTo: secondsBefore(-1),
      updatedAt: secondsBefore(29),
      saved: { cause: null, waitingSince: null, processId: 'other' },
    };
    const otherReleaseFollows = 'projectors of 0.9.0+another follow generation 1';
    const unknownReleaseFollows = 'projectors of a build that is not known follow';

    const progress = () => progressOf(builds.rebuild.control);
    const announceOther = (changes: Partial<Projector> = {}) =>
      builds.rebuild.announceProjector({ _id: 'other', joinedBy: '0.9.0+another', ...changes });
    beforeEach(() => edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } }));
    afterEach(async () => {
      await processesOf<Projector>(builds.rebuild.control).deleteMany({ _id: 'other' });
      await progress().deleteMany({ _id: 'other' });
      await repair('ticket');
    });

    test('is refused without a change while a projector of another release runs', async () => {
      await announceOther();
      const before = [await stored('ticket', 'ti_1'), await builds.rebuild.registry()];
      await expect(repair('ticket')).rejects.toThrow(otherReleaseFollows);
      expect([await stored('ticket', 'ti_1'), await builds.rebuild.registry()]).toEqual(before);
    });

    test.each(['ended', 'running'] as const)('is refused soon after a projector was %s', async (state) => {
      await announceOther({ state, at: secondsBefore(20) });
      await progress().insertOne(otherProgress);
      await expect(repair('ticket')).rejects.toThrow(otherReleaseFollows);
    });

    test('is refused while a projector without an announcement saves progress', async () => {
      await progress().insertOne(otherProgress);
      await expect(repair('ticket')).rejects.toThrow(unknownReleaseFollows);
    });

    test('succeeds once no projector of another release has saved progress for 30 seconds', async () => {
      // A comparison without a repair never waits for this.
      await progress().insertOne(otherProgress);
      expect(await compareOnly({ kind: 'ticket' })).toMatchObject({ differing: 1 });
      await progress().updateOne({ _id: 'other' }, { $set: { updatedAt: secondsBefore(31) } });
      await expect(repair('ticket')).resolves.toMatchObject({ repaired: 1 });
    });
  });

  test('refuses to run while a collection that documents are joined from is lost', async () => {
    const { rebuild } = builds;
    await rebuild.databaseOf(1).collection('contacts').rename('hidden');
    try {
      await expect(compareOnly({ kind: 'ticket' })).rejects.toThrow('_g1.contacts is gone');
    } finally {
      await rebuild.databaseOf(1).collection('hidden').rename('contacts');
    }
    await ensureIndexes(rebuild.databaseOf(1));
  });
});
