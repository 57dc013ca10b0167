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

describe('documents of the served generation', () => {
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
  const right: Partial<VerifyResult> = { differing: 0, repaired: 0, fields: {}, samples: [], absent: [] };

  test('are right if a projector has written them', async () => {
    expect(await compareOnly()).toEqual({ generation: 1, ...right, compared: history.length });
  });

  test('are right again after a repair, if joined fields, references or sort keys were wrong', async () => {
    const before = await stored('ticket', 'ti_1');
    await edit('ticket', 'ti_1', {
      $set: { 'joined.tags': [], refs: [], byCreated: 'wrong' },
      $unset: { 'joined.requester': '' },
    });
    expect(await repair('ticket', { ids: ['ti_1'] })).toMatchObject({
      ...{ compared: 1, differing: 1, repaired: 1 },
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
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    await repair('ticket', { ids: ['ti_1', ...'abcdefg'] });
    expect(await lastWhy()).toBe(
      'verify --repair: 1 of 1 ticket document (ti_1, a, b, c, d and 3 more) repaired; test',
    );
  });

  test('are not written if they are right', async () => {
    const before = await stored('ticket', 'ti_1');
    expect(await repair('ticket')).toMatchObject({ compared: 1, differing: 0 });
    expect(await stored('ticket', 'ti_1')).toEqual(before);
  });

  test('are shown and not changed without --repair', async () => {
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    const before = [await stored('ticket', 'ti_1'), await historyOf()];
    expect(await compareOnly()).toMatchObject({
      ...{ differing: 1, repaired: 0 },
      samples: [{ kind: 'ticket', id: 'ti_1', fields: ['joined.tags'] }],
    });
    expect([await stored('ticket', 'ti_1'), await historyOf()]).toEqual(before);
    await repair('ticket');
    expect(await compareOnly()).toMatchObject(right);
  });

  test('are wrong if a joined entity has changed without its fan-out', async () => {
    await edit('tag', 'tag_1', { $set: { 'state.name': 'renamed' } });
    const samples = [{ kind: 'ticket', id: 'ti_1', fields: ['joined.tags'], reason: null }];
    expect(await compareOnly()).toMatchObject({ differing: 1, samples });
    await edit('tag', 'tag_1', { $set: { 'state.name': 'billing' } });
    await repair('ticket');
  });

  test('are named if an edit has broken them, or if there are none', async () => {
    await edit('tag', 'tag_1', { $set: { 'state.name': 7 } });
    const reason = 'state.name cannot be read: an event of its own rewrites it';
    expect(await repair('tag', { ids: ['tag_1', 'tag_none'] })).toMatchObject({
      ...{ differing: 1, repaired: 0, absent: ['tag_none'] },
      samples: [{ kind: 'tag', id: 'tag_1', fields: ['state.name'], reason }],
    });
    await edit('tag', 'tag_1', { $set: { 'state.name': 'billing' } });
    await repair('ticket');
  });

  test('that only their events can repair are left, and named', async () => {
    await edit('conversation', 'conv_1', { $set: { 'joined.contact': null, pending: true } });
    await edit('message', 'msg_1', { $set: { 'state.createdAt': 'yesterday' } });
    const all = { ...usual, why: 'nightly' };
    expect(await verify(deps(), all)).toMatchObject({ differing: 2, repaired: 1 });
    expect(await lastWhy()).toBe(
      `verify --repair: 1 of ${history.length} documents repaired, 1 left as they are; nightly`,
    );
    const createdAt = new Date('2126-03-01T00:00:00Z');
    await edit('message', 'msg_1', { $set: { 'state.createdAt': createdAt } });
    expect(await repair('message')).toMatchObject({ differing: 1, repaired: 1 });
    // given an archived channel that a list shows
    await edit('channel', 'chan_1', { $set: { 'state.archivedAt': createdAt } });
    const hidden = await repair('channel', { ids: ['chan_1'] });
    expect(hidden).toMatchObject({
      differing: 1,
      repaired: 0,
      samples: [{ id: 'chan_1', fields: ['byCreated'] }],
    });
    await edit('channel', 'chan_1', { $set: { 'state.archivedAt': null } });
    expect(await compareOnly()).toMatchObject(right);
  });

  test('that differ only because their projector lags are right once it has caught up', async () => {
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
    expect(await verify(caughtUp, { ...usual, isRepair: false, kind: 'ticket' })).toMatchObject(right);
  });

  test('are read page by page, without a cursor that stays open', async () => {
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

  test('that a failed run has not reached are named by the command that goes on', async () => {
    const { control } = builds.rebuild;
    const reported: string[] = [];
    const report = (line: string) => reported.push(line);
    const serve = (generation: number) =>
      control.collection('generations').updateOne({}, { $set: { generation } });
    // when another generation is served after the first batch
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
    const gone = () => Promise.reject(new Error('MongoDB is gone'));
    const all = verify(deps({ now: gone, report }), { ...usual, isRepair: false });
    await expect(all).rejects.toThrow('MongoDB is gone');
    const rest = kinds.slice(kinds.indexOf('contact')).map((kind) => `cli verify ${kind}`);
    expect(reported.at(-1)).toBe(`to continue: ${rest.join('; ')}`);
    await repair('channel');
  });

  test('of a repair whose reply is lost are named in the history', async () => {
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

  test('are not touched by a repair while projectors join them in another way', async () => {
    const { control, registry } = builds.rebuild;
    const other = {
      _id: 'other',
      generation: 1,
      topic: 'other',
      partition: 0,
      applied: { position: 0 },
      end: 0,
    };
    const processes = processesOf<Projector>(control);
    await builds.rebuild.announceProjector({ _id: 'other', joinedBy: '0.9.0+another' });
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    const before = [await stored('ticket', 'ti_1'), await registry()];
    await expect(repair('ticket')).rejects.toThrow('projectors of 0.9.0+another follow generation 1');
    expect([await stored('ticket', 'ti_1'), await registry()]).toEqual(before);
    // and for a while after the other projector has ended, or after a kill
    const progress = {
      ...other,
      completeTo: secondsBefore(-1),
      updatedAt: secondsBefore(29),
      saved: { cause: null, waitingSince: null, processId: 'other' },
    };
    await progressOf(control).insertOne(progress);
    for (const state of ['ended', 'running'] as const) {
      await processes.updateOne({ _id: 'other' }, { $set: { state, at: secondsBefore(20) } });
      await expect(repair('ticket')).rejects.toThrow('projectors of 0.9.0+another follow generation 1');
    }
    // and while a projector saves progress without an announcement
    await processes.deleteOne({ _id: 'other' });
    await expect(repair('ticket')).rejects.toThrow('projectors of a build that is not known follow');
    // A comparison without repair shows the change before the projectors of this release run.
    expect(await compareOnly({ kind: 'ticket' })).toMatchObject({ differing: 1 });
    await progressOf(control).updateOne({ _id: 'other' }, { $set: { updatedAt: secondsBefore(31) } });
    await expect(repair('ticket')).resolves.toMatchObject({ repaired: 1 });
    await progressOf(control).deleteOne({ _id: 'other' });
  });

  test('are not verified while a collection that they are joined from is lost', async () => {
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
