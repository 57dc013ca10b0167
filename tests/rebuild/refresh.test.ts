import * as verbs from '../../services/cli/rebuild/verbs.ts';
import { verifyGeneration } from '../../services/operations/rebuild/compare-generations.ts';
import { refresh, type RefreshOptions } from '../../services/operations/refresh/refresh.ts';
import { joinedBy } from '../../services/projector/joined-by.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { refreshesOf } from '../../shared/control/refreshes.ts';
import { forgetOtherRefreshes } from '../../shared/control/refreshes.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { present, secondsBefore } from './fixture.ts';
import { useTwoBuilds } from './two-builds.ts';

const usual = { dryRun: false, timeoutSeconds: 0, why: 'test' };

describe('documents of the served generation', () => {
  const builds = useTwoBuilds();
  const collection = (kind: Kind) => builds.collection(kind, 1);
  const run = (kind: Kind, options: Partial<RefreshOptions> = {}) =>
    refresh(builds.rebuild.deps(), kind, { ...usual, ...options });
  const verify = async (options: object = {}) => {
    const { output, exitCode } = await builds.rebuild.runJson(verbs.verify, { generation: 1, ...options });
    return { exitCode, ...output };
  };
  const stored = async (kind: Kind, id: string) => collection(kind).findOne({ _id: id });
  const lastWhy = async () => (await builds.rebuild.registry()).history.at(-1)?.why;
  /** Documents as an operator's edit, or a fault of the projector, leaves them. */
  const edit = (kind: Kind, _id: string, update: object) => collection(kind).updateOne({ _id }, update);

  test('are right again after a refresh, if joined fields, references or sort keys were wrong', async () => {
    const before = await stored('ticket', 'ti_1');
    await edit('ticket', 'ti_1', {
      $set: { 'joined.tags': [], refs: [], byCreated: 'wrong' },
      $unset: { 'joined.requester': '' },
    });
    expect(await run('ticket', { ids: ['ti_1'] })).toMatchObject({
      read: 1,
      changed: 1,
      fields: { 'joined.tags': 1, 'joined.requester': 1, refs: 1, byCreated: 1 },
      left: 0,
    });
    const after = await stored('ticket', 'ti_1');
    expect({ ...after, revision: 0 }).toEqual({ ...before, revision: 0 });
    expect(after?.revision).toBeGreaterThan(Number(before?.revision));
    expect(await lastWhy()).toBe('refreshed: 1 of 1 ticket document (ti_1) changed; test');
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    await run('ticket', { ids: ['ti_1', ...'abcdefg'] });
    expect(await lastWhy()).toBe(
      'refreshed: 1 of 1 ticket document (ti_1, a, b, c, d and 3 more) changed; test',
    );
  });

  test('are not written if they are right', async () => {
    const before = await stored('ticket', 'ti_1');
    expect(await run('ticket')).toMatchObject({ read: 1, changed: 0 });
    expect(await stored('ticket', 'ti_1')).toEqual(before);
  });

  test('are shown and not changed by a dry run', async () => {
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    const before = await stored('ticket', 'ti_1');
    const { history } = await builds.rebuild.registry();
    expect(await run('ticket', { dryRun: true })).toMatchObject({
      changed: 1,
      samples: [{ id: 'ti_1', fields: ['joined.tags'] }],
    });
    expect(await stored('ticket', 'ti_1')).toEqual(before);
    expect((await builds.rebuild.registry()).history).toEqual(history);
    await run('ticket');
    expect(await verify()).toMatchObject({ exitCode: 0, differences: 0 });
  });

  test('are named if an edit has broken them, or if there are none', async () => {
    await edit('tag', 'tag_1', { $set: { 'state.name': 7 } });
    expect(await run('tag', { ids: ['tag_1', 'tag_none'] })).toMatchObject({
      changed: 0,
      left: 1,
      leftSamples: [{ id: 'tag_1', reason: 'state.name cannot be read' }],
      absent: ['tag_none'],
    });
    await edit('tag', 'tag_1', { $set: { 'state.name': 'billing' } });
    await run('ticket');
  });

  const interrupted = {
    generation: 1,
    run: 'earlier',
    joinedBy,
    startedAt: secondsBefore(60),
    savedAt: secondsBefore(50),
    after: 'con_0',
    read: 7,
    changed: 3,
    left: 1,
    fields: [{ field: 'joined.tags', count: 3 }],
    samples: [{ id: 'con_00', fields: ['joined.tags'] }],
    leftSamples: [{ id: 'con_01', reason: 'refused' }],
  };
  /** Stores the progress of an interrupted refresh of the contacts. */
  const begin = (changes: object = {}) =>
    refreshesOf(builds.rebuild.control).replaceOne(
      { _id: '1/contact' },
      { ...interrupted, ...changes },
      { upsert: true },
    );

  test('of an interrupted refresh are not read again by the same code, which knows its findings', async () => {
    await begin();
    expect(await run('contact')).toMatchObject({
      continuedAfter: 'con_0',
      read: 8,
      changed: 3,
      left: 1,
      fields: { 'joined.tags': 3 },
      samples: interrupted.samples,
      leftSamples: interrupted.leftSamples,
    });
    expect(await refreshesOf(builds.rebuild.control).countDocuments()).toBe(0);
  });

  test.each([
    ['that other code has begun', { joinedBy: '1.0.0+another' }, {}],
    ['that is two days old', { savedAt: secondsBefore(2 * 86_400) }, {}],
    ['if the operator says so', {}, { fromStart: true }],
  ])('of an interrupted refresh %s are read again', async (_, changes, options) => {
    await begin(changes);
    expect(await run('contact', options)).toMatchObject({ continuedAfter: null, read: 1, left: 0 });
  });

  test('are read again if a projector of another release has started since the refresh was interrupted', async () => {
    await begin();
    await forgetOtherRefreshes(builds.rebuild.control, 1, '1.0.0+another');
    expect(await run('contact')).toMatchObject({ continuedAfter: null });
  });

  /** Runs a refresh of all tickets, and does something else once it has begun. */
  const runBeside = (work: () => Promise<unknown>) => {
    const asked = { count: 0 };
    const now = async () => {
      const has = (await refreshesOf(builds.rebuild.control).countDocuments()) > 0;
      if (has) asked.count += 1;
      if (asked.count === 1) await work();
      return present;
    };
    return refresh(builds.rebuild.deps({ now }), 'ticket', usual);
  };

  test.each<[string, () => Promise<unknown>]>([
    [
      'a projector of another release starts',
      () => forgetOtherRefreshes(builds.rebuild.control, 1, '1.0.0+another'),
    ],
    [
      'another refresh takes over',
      () => refreshesOf(builds.rebuild.control).updateOne({}, { $set: { run: 'another' } }),
    ],
  ])('are not refreshed any more, and the history tells it, once %s', async (_, work) => {
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
    await expect(runBeside(work)).rejects.toThrow('another refresh of ticket has begun, or a projector');
    expect(await lastWhy()).toMatch(
      /^refresh stopped \(another refresh .+\): 1 of 1 ticket document changed; test$/,
    );
    await refreshesOf(builds.rebuild.control).deleteMany({});
  });

  test.each(['refresh', 'repair'])(
    'are not touched by a %s while projectors join them in another way',
    async (verb) => {
      const { control, deps, registry } = builds.rebuild;
      const saved = {
        _id: 'other',
        generation: 1,
        topic: 'other',
        partition: 0,
        applied: { position: 0 },
        end: 0,
      };
      const progress = {
        ...saved,
        completeTo: secondsBefore(-1),
        updatedAt: present,
        saved: {
          ...{ cause: null, waitingSince: null, isPinned: true },
          release: '0.9.0',
          joinedBy: '0.9.0+another',
        },
      };
      await progressOf(control).insertOne(progress);
      await edit('ticket', 'ti_1', { $set: { 'joined.tags': [] } });
      const before = [await stored('ticket', 'ti_1'), await registry()];
      const attempt = () => (verb === 'refresh' ? run('ticket') : verifyGeneration(deps(), 1, true));
      await expect(attempt()).rejects.toThrow('projectors of 0.9.0+another follow generation 1');
      expect([await stored('ticket', 'ti_1'), await registry()]).toEqual(before);
      // A dry run shows the change before the projectors of this release are there.
      expect(await run('ticket', { dryRun: true })).toMatchObject({ changed: 1 });
      await progressOf(control).updateOne({ _id: 'other' }, { $set: { updatedAt: secondsBefore(31) } });
      await expect(attempt()).resolves.toBeDefined();
      await progressOf(control).deleteOne({ _id: 'other' });
    },
  );

  test('are not refreshed while a collection that they are joined from is lost', async () => {
    const { rebuild } = builds;
    await rebuild.databaseOf(1).collection('contacts').rename('hidden');
    try {
      await expect(run('ticket')).rejects.toThrow(/lacks contacts\./);
    } finally {
      await rebuild.databaseOf(1).collection('hidden').rename('contacts');
    }
  });

  test('that verify finds wrong are repaired, and those that only their events can mend are named', async () => {
    await edit('ticket', 'ti_1', { $set: { 'joined.tags': [], byUpdated: 'wrong' } });
    await edit('conversation', 'conv_1', { $set: { 'joined.contact': null, pending: true } });
    await edit('message', 'msg_1', { $set: { 'state.createdAt': 'yesterday' } });
    const named = { kind: 'message', id: 'msg_1', class: 'unreadable', field: 'state.createdAt' };
    const reported: string[] = [];
    const report = (line: string) => void reported.push(line);
    await builds.rebuild.run(verbs.verify, { generation: 1 }, { report });
    expect(reported.at(-1)).toBe('to join the wrong documents again: npx support-cli verify 1 --repair');
    expect(await verify()).toMatchObject({ exitCode: 1, differing: 3 });
    const repaired = await verify({ repair: true });
    expect(repaired).toMatchObject({ exitCode: 1, repaired: 2, remaining: [named] });
    expect(await lastWhy()).toBe('verify --repair: 2 documents repaired, 1 still wrong');
    const created = new Date('2126-03-01T00:00:00Z');
    await edit('message', 'msg_1', { $set: { 'state.createdAt': created } });
    expect(await verify({ repair: true })).toMatchObject({ remaining: [] });
    expect(await verify()).toMatchObject({ exitCode: 0, differences: 0 });
  });

  test('are not refreshed any more once another generation is served', async () => {
    const { rebuild } = builds;
    const asked = { count: 0 };
    const now = async () => {
      asked.count += 1;
      if (asked.count === 1)
        await rebuild.control.collection('generations').updateOne({}, { $set: { generation: 2 } });
      return present;
    };
    const refreshing = refresh(rebuild.deps({ now }), 'ticket', usual);
    await expect(refreshing).rejects.toThrow('generation 2 is served now, no longer 1');
  });
});
