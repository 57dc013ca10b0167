import * as verbs from '../../services/cli/rebuild/verbs.ts';
import { refresh, type RefreshOptions } from '../../services/operations/refresh/refresh.ts';
import { refreshesOf } from '../../shared/control/refreshes.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { release } from '../../shared/runtime/release.ts';
import { present, secondsBefore } from './fixture.ts';
import { useTwoBuilds } from './two-builds.ts';

describe('documents of the served generation', () => {
  const builds = useTwoBuilds();
  const collection = (kind: Kind) => builds.collection(kind, 1);
  const run = (kind: Kind, options: Partial<RefreshOptions> = {}) =>
    refresh(builds.rebuild.deps(), kind, { dryRun: false, why: 'test', ...options });
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
    expect(await lastWhy()).toBe('refreshed: 1 of 1 ticket document changed; test');
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

  test('of an interrupted refresh are not read again by the same release', async () => {
    const interrupted = {
      after: 'con_0',
      read: 7,
      changed: 3,
      left: 0,
      startedAt: secondsBefore(60),
      savedAt: secondsBefore(50),
    };
    const begin = (changes: object) =>
      refreshesOf(builds.rebuild.control).replaceOne(
        { _id: '1/contact' },
        { generation: 1, release, ...interrupted, ...changes },
        { upsert: true },
      );
    await begin({});
    expect(await run('contact')).toMatchObject({ continuedAfter: 'con_0', read: 8, changed: 3 });
    expect(await refreshesOf(builds.rebuild.control).countDocuments()).toBe(0);
    for (const changes of [{ release: '0.9.0' }, { savedAt: secondsBefore(2 * 86_400) }]) {
      await begin(changes);
      expect(await run('contact')).toMatchObject({ continuedAfter: null, read: 1 });
    }
    await begin({});
    expect(await run('contact', { fromStart: true })).toMatchObject({ continuedAfter: null, read: 1 });
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
    const refreshing = refresh(rebuild.deps({ now }), 'ticket', { dryRun: false, why: 'test' });
    await expect(refreshing).rejects.toThrow('generation 2 is served now, no longer 1');
  });
});
