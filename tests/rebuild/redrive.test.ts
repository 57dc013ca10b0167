import { redrive as redriveOn } from '../../services/operations/dead-letters/redrive.ts';
import { redriveSelected } from '../../services/operations/dead-letters/redrive-selected.ts';
import { recordOf } from '../../services/projector/dead-letters/dead-letter.ts';
import { eraseSince } from '../../services/projector/dead-letters/erase.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { projectionVersion, RebuildRefused } from '../../shared/control/generations.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { recordBytesOf } from '../../shared/control/record-bytes.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { standingLetters } from '../support/dead-letters.ts';
import { activeAndReady, generation, present, useRebuild } from './fixture.ts';
import { readGenerationsLacking, storeRejected, storeRejectedTag } from './rejected-letters.ts';

describe('dead letters that are redriven on several generations', () => {
  const rebuild = useRebuild();
  const deps = () => ({ ...rebuild, now: async () => present, readRecords: null });

  const rejectedOn = (id: string, generations: number[]) => storeRejectedTag(rebuild, id, generations);
  const redrive = (...ids: string[]) =>
    redriveSelected(deps(), { ids }, { dryRun: false, onProgress: () => undefined });
  const isIn = async (number: number, id: string) =>
    (await collectionOf(rebuild.databaseOf(number), 'tag').countDocuments({ _id: id })) === 1;
  const generationsLacking = (id: string) => readGenerationsLacking(rebuild, id);

  test('are redriven on each living generation that lacks their record', async () => {
    await rebuild.storeGenerations([
      generation(1, 'active'),
      generation(2, 'ready'),
      generation(3, 'dropped'),
    ]);
    const onBoth = await rejectedOn('tag_2', [1, 2]);
    const onSecond = await rejectedOn('tag_3', [2]);
    expect(await redrive(onBoth, onSecond)).toMatchObject({ applied: 2, refused: 0, refusals: [] });
    expect(await Promise.all([isIn(1, 'tag_2'), isIn(2, 'tag_2')])).toEqual([true, true]);
    expect(await Promise.all([isIn(1, 'tag_3'), isIn(2, 'tag_3')])).toEqual([false, true]);
    expect(await generationsLacking(onBoth)).toBeUndefined();
    expect(await generationsLacking(onSecond)).toBeUndefined();
  });

  /** Lets a generation have read past every dead letter. */
  const readPast = (number: number) =>
    progressOf(rebuild.control).updateMany({ generation: number }, { $set: { 'applied.position': 1_000 } });

  test('are also redriven on a build that has read past their record, because Kafka may have lost it', async () => {
    await rebuild.storeGenerations(activeAndReady());
    await readPast(2);
    const lost = await rejectedOn('tag_40', [1]);
    expect(await redrive(lost)).toMatchObject({ applied: 1, refused: 0 });
    expect(await rebuild.switchOnce(2)).toMatchObject({ outcome: 'promoted' });
    expect(await isIn(2, 'tag_40')).toBe(true);
  });

  test('are not redriven on a build that still reads their record in the log', async () => {
    await rebuild.storeGenerations(activeAndReady());
    const unread = await rejectedOn('tag_44', [1]);
    expect(await redrive(unread)).toMatchObject({ applied: 1, refused: 0 });
    expect(await Promise.all([isIn(1, 'tag_44'), isIn(2, 'tag_44')])).toEqual([true, false]);
    expect(await generationsLacking(unread)).toBeUndefined();
  });

  test('stay open while a build has no collections yet', async () => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'building')]);
    const id = await rejectedOn('tag_42', [1]);
    await expect(redrive(id)).rejects.toThrow(
      new RebuildRefused(
        'generation 2 needs the records too, but has no collections yet: start its projectors',
      ),
    );
    expect(await generationsLacking(id)).toEqual([1]);
  });

  /** Stores a tag of an organization in the documents of a generation. */
  const storeTag = (number: number, id: string, orgId: string) =>
    collectionOf<StoredDocument>(rebuild.databaseOf(number), 'tag').insertOne({
      _id: id,
      orgId,
      version: 1,
      revision: 1,
      position: null,
      state: {},
    });
  /** Stores a valid deletion of a tag, as if a former release had rejected it on these generations. */
  const rejectedDeletion = (id: string, generations: number[]) => {
    const deletion = { kind: 'tag', id, orgId: 'org_1', version: 2, op: 'deleted', time: present } as const;
    return storeRejected(rebuild, deletion, generations);
  };

  test('are listed for a generation that refuses them, with its reason, although only another one lacked them', async () => {
    await rebuild.storeGenerations(activeAndReady());
    await storeTag(2, 'tag_41', 'org_2');
    await readPast(2);
    const id = await rejectedOn('tag_41', [1]);
    expect(await redrive(id)).toMatchObject({ applied: 0, refused: 1 });
    expect(await isIn(1, 'tag_41')).toBe(true);
    const letters = await standingLetters(rebuild.control);
    expect(letters).toMatchObject([{ _id: id, generations: [2], reason: 'wrong_organization', count: 2 }]);
  });

  test('of a deletion are listed for a generation that refuses it, although only another one lacked it', async () => {
    await rebuild.storeGenerations(activeAndReady());
    await storeTag(1, 'tag_47', 'org_1');
    await storeTag(2, 'tag_47', 'org_2');
    await readPast(2);
    const letter = await rejectedDeletion('tag_47', [1]);
    expect(await redrive(letter)).toMatchObject({ applied: 0, refused: 1 });
    expect(await generationsLacking(letter)).toEqual([2]);
  });

  test('of a deletion stay open for the generation that refuses it, also after a sweep of another generation', async () => {
    await rebuild.storeGenerations(activeAndReady());
    await readPast(2);
    await storeTag(1, 'tag_43', 'org_2');
    await storeTag(2, 'tag_43', 'org_1');
    const letter = await rejectedDeletion('tag_43', [1]);
    expect(await redrive(letter)).toMatchObject({ applied: 0, refused: 1 });
    const onSecond = await collectionOf<StoredDocument>(rebuild.databaseOf(2), 'tag').findOne({
      _id: 'tag_43',
    });
    expect(onSecond?.deletedAt).toBeInstanceOf(Date);
    expect(await generationsLacking(letter)).toEqual([1]);
    const sweepOfSecond = {
      control: rebuild.control,
      prefix: rebuild.config.TOPIC_PREFIX,
      generation: 2,
      store: mongoStore(rebuild.databaseOf(2)),
      now: () => present,
      signal: new AbortController().signal,
      onProgress: () => undefined,
    };
    await eraseSince(sweepOfSecond, new Date(0));
    expect(await generationsLacking(letter)).toEqual([1]);
  });

  test('of a deletion stay open for a generation of another release', async () => {
    await rebuild.storeGenerations([
      generation(1, 'standby', { projectionVersion: projectionVersion + 1 }),
      generation(2, 'active'),
    ]);
    await storeTag(2, 'tag_45', 'org_1');
    const letter = await rejectedDeletion('tag_45', [1, 2]);
    expect(await redrive(letter)).toMatchObject({ applied: 1, refused: 0 });
    expect(await generationsLacking(letter)).toEqual([1]);
  });

  test('are also redriven on a build whose log began after their record', async () => {
    await rebuild.storeGenerations(activeAndReady());
    const place = { topic: topicOf('tag', rebuild.config.TOPIC_PREFIX), partition: 0 };
    await rebuild.changeGeneration(2, { loadTo: [{ ...place, low: 60, end: 60 }] });
    const lost = await rejectedOn('tag_46', [1]);
    expect(await redrive(lost)).toMatchObject({ applied: 1, refused: 0 });
    expect(await isIn(2, 'tag_46')).toBe(true);
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

  test('without bytes yet are refused, and the others are redriven, if the command does not read Kafka', async () => {
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

  test('stay open if their generation is dropped while they are redriven', async () => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'dropping')]);
    const id = await rejectedOn('tag_8', [2]);
    const target = {
      ...rebuild,
      generation: 2,
      store: mongoStore(rebuild.databaseOf(2)),
      prefix: rebuild.config.TOPIC_PREFIX,
      tombstoneDays: 30,
      now: () => present,
      isPast: () => false,
    };
    const bytes = await recordBytesOf(rebuild.control).findOne({ _id: id });
    const letters = await standingLetters(rebuild.control);
    const entry = letters.find(({ _id }) => _id === id);
    if (!bytes || !entry) throw new Error('there is no dead letter');
    const readable = [{ id, entry, record: recordOf(bytes) }];
    const redriving = redriveOn([target], readable, { dryRun: false });
    await expect(redriving).rejects.toThrow('generation 2 is being dropped');
    expect(await generationsLacking(id)).toEqual([2]);
  });

  test('stay open for a generation of another release, which must redrive them', async () => {
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
});
