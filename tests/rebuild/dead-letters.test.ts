import { redrive as redriveOn } from '../../services/operations/dead-letters/redrive.ts';
import { redriveSelected } from '../../services/operations/dead-letters/redrive-selected.ts';
import { readOwnRejects } from '../../services/operations/own-rejects.ts';
import { dropGeneration } from '../../services/operations/rebuild/drop.ts';
import { recordOf } from '../../services/projector/dead-letters/dead-letter.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { projectionVersion } from '../../shared/control/generations.ts';
import { ledgerOf, readLedgerRecords, storeLost, storeSkip } from '../../shared/control/ledger-store.ts';
import { logGapsOf, storeLogGaps } from '../../shared/control/log-gaps.ts';
import { recordBytesOf } from '../../shared/control/record-bytes.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { standingLetters, storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { activeAndReady, generation, present, secondsBefore, useRebuild } from './fixture.ts';

describe('dead letters of several generations', () => {
  const rebuild = useRebuild();
  const deps = () => ({ ...rebuild, now: async () => present, readRecords: null });

  /** Stores a valid tag, as if a former release had rejected it on these generations. */
  const rejectedOn = async (id: string, generations: number[]): Promise<string> => {
    const offset = Number(id.split('_')[1]);
    let letterId = '';
    for (const number of generations) {
      const options = { offset, now: present, generation: number };
      letterId = await storeDeadLetter(rebuild, created('tag', id), options);
    }
    return letterId;
  };
  const redrive = (...ids: string[]) =>
    redriveSelected(deps(), { ids }, { dryRun: false, onProgress: () => undefined });
  const isIn = async (number: number, id: string) =>
    (await collectionOf(rebuild.databaseOf(number), 'tag').countDocuments({ _id: id })) === 1;
  /** The generations that lack the effect of the record; undefined if the dead letter no longer stands. */
  const generationsLacking = async (id: string) => {
    const records = await readLedgerRecords(rebuild.control, [id]);
    return records.get(id)?.generations;
  };

  test('are re-driven on each living generation', async () => {
    await rebuild.storeGenerations([
      generation(1, 'active'),
      generation(2, 'ready'),
      generation(3, 'dropped'),
    ]);
    const onBoth = await rejectedOn('tag_2', [1, 2]);
    const onSecond = await rejectedOn('tag_3', [2]);
    expect(await redrive(onBoth, onSecond)).toMatchObject({ applied: 2, refused: 0, refusals: [] });
    expect(await Promise.all([isIn(1, 'tag_2'), isIn(2, 'tag_2')])).toEqual([true, true]);
    expect(await Promise.all([isIn(1, 'tag_3'), isIn(2, 'tag_3')])).toEqual([true, true]);
    expect(await generationsLacking(onBoth)).toBeUndefined();
    expect(await generationsLacking(onSecond)).toBeUndefined();
  });

  test('are also re-driven on a build, which cannot read their record if Kafka has lost it', async () => {
    await rebuild.storeGenerations(activeAndReady());
    const lost = await rejectedOn('tag_40', [1]);
    expect(await redrive(lost)).toMatchObject({ applied: 1, refused: 0 });
    expect(await rebuild.switchOnce(2)).toMatchObject({ outcome: 'promoted' });
    expect(await isIn(2, 'tag_40')).toBe(true);
  });

  test('stay open while a build has no collections yet', async () => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'building')]);
    const id = await rejectedOn('tag_42', [1]);
    await expect(redrive(id)).rejects.toThrow('has no collections yet: start its projectors');
    expect(await generationsLacking(id)).toEqual([1]);
  });

  test('stay open if a generation that does not list them refuses them', async () => {
    await rebuild.storeGenerations(activeAndReady());
    const known = { orgId: 'org_2', version: 1, revision: 1, position: null, state: {} };
    await collectionOf<StoredDocument>(rebuild.databaseOf(2), 'tag').insertOne({ _id: 'tag_41', ...known });
    const id = await rejectedOn('tag_41', [1]);
    expect(await redrive(id)).toMatchObject({ applied: 0, refused: 1 });
    expect(await generationsLacking(id)).toEqual([1]);
  });

  test('are refused if one of two generations refuses them', async () => {
    await rebuild.storeGenerations(activeAndReady());
    const known = { orgId: 'org_2', version: 1, revision: 1, position: null, state: {} };
    const refusedOn = async (number: number, id: string) => {
      await collectionOf<StoredDocument>(rebuild.databaseOf(number), 'tag').insertOne({ _id: id, ...known });
      return rejectedOn(id, [1, 2]);
    };
    const refused = [await refusedOn(1, 'tag_6'), await refusedOn(2, 'tag_7')];
    expect(await redrive(...refused)).toMatchObject({ applied: 0, refused: 2 });
    expect(await Promise.all(refused.map(generationsLacking))).toEqual([[1], [2]]);
  });

  test('without bytes yet are refused, and the others are re-driven, if the command does not read Kafka', async () => {
    await rebuild.storeGenerations([generation(1, 'active')]);
    // given a dead letter whose projector has not stored its bytes yet
    const early = await rejectedOn('tag_20', [1]);
    await recordBytesOf(rebuild.control).deleteOne({ _id: early });
    const complete = await rejectedOn('tag_21', [1]);
    const detail = 'its bytes were stored or removed during the redrive: run the command again';
    const refusals = [{ id: early, detail }];
    expect(await redrive(early, complete)).toMatchObject({ applied: 1, refused: 1, refusals });
    expect(await isIn(1, 'tag_21')).toBe(true);
  });

  test('stay open if their generation is dropped while they are re-driven', async () => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'dropping')]);
    const id = await rejectedOn('tag_8', [2]);
    const target = {
      ...rebuild,
      generation: 2,
      store: mongoStore(rebuild.databaseOf(2)),
      prefix: rebuild.config.TOPIC_PREFIX,
      tombstoneDays: 30,
      now: () => present,
    };
    const bytes = await recordBytesOf(rebuild.control).findOne({ _id: id });
    const letters = await standingLetters(rebuild.control);
    const entry = letters.find(({ _id }) => _id === id);
    if (!bytes || !entry) throw new Error('there is no dead letter');
    const readable = [{ id, entry, record: recordOf(bytes) }];
    const redriving = redriveOn(target, readable, { dryRun: false });
    await expect(redriving).rejects.toThrow('generation 2 is being dropped');
    expect(await generationsLacking(id)).toEqual([2]);
  });

  test('stay open for a generation of another release, which must re-drive them', async () => {
    await rebuild.storeGenerations([
      generation(1, 'standby', { projectionVersion: projectionVersion + 1 }),
      generation(2, 'active'),
    ]);
    const both = await rejectedOn('tag_4', [1, 2]);
    expect(await redrive(both)).toMatchObject({ applied: 1, refused: 0 });
    expect(await Promise.all([isIn(1, 'tag_4'), isIn(2, 'tag_4')])).toEqual([false, true]);
    expect(await generationsLacking(both)).toEqual([1]);
    const repeatedRedrive = await redrive(both);
    expect(repeatedRedrive).toMatchObject({ applied: 0, refused: 1 });
    expect(repeatedRedrive.refusals[0]?.detail).toContain('open for generation 1 only, of another release');
    expect(await generationsLacking(both)).toEqual([1]);
  });

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
