import { readOwnRejects } from '../../services/operations/own-rejects.ts';
import { dropGeneration } from '../../services/operations/rebuild/drop.ts';
import { ledgerOf, storeLost, storeSkip } from '../../shared/control/ledger-store.ts';
import { logGapsOf, storeLogGaps } from '../../shared/control/log-gaps.ts';
import { recordBytesOf } from '../../shared/control/record-bytes.ts';
import { activeAndReady, generation, present, secondsBefore, useRebuild } from './fixture.ts';
import { readGenerationsLacking, storeRejectedTag } from './rejected-letters.ts';

describe('dead letters of several generations', () => {
  const rebuild = useRebuild();

  const rejectedOn = (id: string, generations: number[]) => storeRejectedTag(rebuild, id, generations);
  const generationsLacking = (id: string) => readGenerationsLacking(rebuild, id);

  test('are carried over to a promoted generation if Kafka cannot return the record', async () => {
    const { topics } = await rebuild.topicWith({ 'cleanup.policy': 'compact,delete' });
    const [topic = ''] = topics;
    await rebuild.truncate(topic);
    await rebuild.storeGenerations(activeAndReady());
    const letters = [
      { offset: 1, generations: [1] },
      { offset: 2, generations: [1] },
      { offset: 2, partition: 1, generations: [1] },
      // No broker answers for this topic.
      { offset: 2, topic: 'other', generations: [1] },
      { offset: 0, generations: [3] },
    ];
    const ids: string[] = [];
    for (const letter of letters) ids.push(await rebuild.deadLetter({ topic, ...letter }));
    const lines: string[] = [];
    const switchDeps = { topics, report: (line: string) => lines.push(line) };
    expect(await rebuild.switchOnce(2, {}, switchDeps)).toMatchObject({ outcome: 'promoted' });
    expect(await Promise.all(ids.map(generationsLacking))).toEqual([[1, 2], [1], [1, 2], [1, 2], [3]]);
    expect(lines).toContainEqual(
      expect.stringMatching(/^generation 2 lacks the effect of \d+ dead letters$/),
    );
  });

  test('are carried over if the log diverged before their record, or their topic was created again', async () => {
    const [topic = '', recreated = '', reset = '', diverged = ''] = rebuild.topics;
    const messages = [{ partition: 0, key: '1', value: '' }];
    for (const name of [topic, recreated, reset, diverged])
      await rebuild.producer.send({ topic: name, messages });
    const accepted = [{ finding: 'older' as const, by: 'ann', at: present, why: 'test', seen: [] }];
    await rebuild.storeGenerations([
      generation(1, 'standby', { accepted }),
      generation(2, 'active'),
      generation(3, 'standby', { accepted }),
    ]);
    await rebuild.recreateTopic(2, recreated);
    // given a log that has grown since it diverged
    const gap = { topic: diverged, partition: 0, kind: 'diverged' as const, from: 0, to: 3, topicId: null };
    await storeLogGaps({ control: rebuild.control, generation: 2, by: 'test' }, [gap], present);
    const ids = [
      await rebuild.deadLetter({ topic, offset: 0 }),
      await rebuild.deadLetter({ topic, offset: 1_000 }),
      // A projector rejects it after the operator has read the log.
      await rebuild.deadLetter({ topic, offset: 1_001, at: present }),
      await rebuild.deadLetter({ topic: recreated, offset: 0 }),
      await rebuild.deadLetter({ topic: diverged, offset: 0 }),
      await rebuild.deadLetter({ topic: reset, offset: 0 }),
    ];
    // and a topic whose new log projectors read since an operator accepted the gap, with a record that they reject
    const lost = { topic: reset, partition: 0, from: 0 };
    await storeLost(rebuild.control, 2, [lost]);
    ids.push(await rebuild.deadLetter({ topic: reset, offset: 0, timestampMs: 5 }));
    expect(await rebuild.switchOnce(1, { step: 'rollback' })).toMatchObject({ outcome: 'rolled-back' });
    expect(await Promise.all(ids.map(generationsLacking))).toEqual([
      [2],
      [1, 2],
      [2],
      [1, 2],
      [1, 2],
      [1, 2],
      [2],
    ]);
    // and the next switch opens the same dead letters, although its generation has read the present logs
    await logGapsOf(rebuild.control).deleteMany({});
    expect(await rebuild.switchOnce(3, { step: 'rollback' })).toMatchObject({ outcome: 'rolled-back' });
    const all = [1, 2, 3];
    expect(await Promise.all(ids.map(generationsLacking))).toEqual([[2], all, [2], all, all, all, [2]]);
  });

  test('are carried over by a rollback while no partition has a leader', async () => {
    await rebuild.storeGenerations([generation(1, 'standby'), generation(2, 'active')]);
    const open = await rebuild.deadLetter({ generations: [2] });
    const { log } = rebuild.deps();
    const read = async (topics: string[]) => ({ ...(await log.read(topics)), ends: new Map() });
    const rolledBack = await rebuild.switchOnce(1, { step: 'rollback' }, { log: { ...log, read } });
    expect(rolledBack).toMatchObject({ outcome: 'rolled-back' });
    expect(await generationsLacking(open)).toEqual([1, 2]);
  });

  test('are closed for a dropped generation, and lose their bytes if it alone lacked the record', async () => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'standby')]);
    const both = await rejectedOn('tag_31', [1, 2]);
    const second = await rejectedOn('tag_32', [2]);
    await storeSkip(
      rebuild.control,
      { topic: 'support.tags', partition: 0, offset: 99 },
      { generations: [2], by: 'ann', why: 'test', at: present },
    );
    await dropGeneration(rebuild.deps(), 2, { why: 'test', force: true, timeoutSeconds: 0 });
    expect(await generationsLacking(both)).toEqual([1]);
    expect(await generationsLacking(second)).toBeUndefined();
    const bytesOf = (id: string) => recordBytesOf(rebuild.control).findOne({ _id: id });
    expect(await bytesOf(both)).not.toBeNull();
    expect(await bytesOf(second)).toBeNull();
    expect(await ledgerOf(rebuild.control).countDocuments({ 'skips.generations': 2 })).toBe(0);
  });

  test('count against a build once both generations are complete up to their first rejection', async () => {
    await rebuild.storeGenerations(activeAndReady());
    for (const offset of [35, 36]) await rebuild.deadLetter({ offset, at: secondsBefore(60) });
    await rebuild.deadLetter({ offset: 36, generations: [1], at: secondsBefore(50) });
    await rebuild.deadLetter({ offset: 37, at: secondsBefore(40) });
    const countOwn = async (activeCompleteTo: Date) => {
      await rebuild.setWatermark(1, activeCompleteTo);
      const build = { active: 1, number: 2, completeTo: secondsBefore(30), now: present };
      const { count } = await readOwnRejects(rebuild.control, build);
      return count;
    };
    expect(await countOwn(secondsBefore(60))).toBe(0);
    expect(await countOwn(secondsBefore(59))).toBe(1);
    expect(await countOwn(secondsBefore(39))).toBe(2);
  });
});
