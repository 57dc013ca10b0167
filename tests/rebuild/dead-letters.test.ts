import { redrive as redriveOn } from '../../services/operations/dead-letters/redrive.ts';
import { nextSteps, redriveSelected } from '../../services/operations/dead-letters/redrive-selected.ts';
import { recordOf } from '../../services/projector/dead-letters/dead-letter.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { deadLettersOf } from '../../shared/control/dead-letters.ts';
import { projectionVersion } from '../../shared/control/generations.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { activeAndReady, generation, present, useRebuild } from './fixture.ts';

describe('dead letters of several generations', () => {
  const rebuild = useRebuild();
  const deps = () => ({ ...rebuild, now: async () => present });

  /** Stores a valid tag, as if a former release had rejected it on these generations. */
  const rejectedOn = async (id: string, generations: number[]): Promise<string> => {
    const stored = generations.map((number) =>
      storeDeadLetter(rebuild, created('tag', id), {
        offset: Number(id.split('_')[1]),
        now: present,
        generation: number,
      }),
    );
    return (await Promise.all(stored))[0] ?? '';
  };
  const redrive = (...ids: string[]) =>
    redriveSelected(deps(), { ids }, { dryRun: false, onProgress: () => undefined });
  const isIn = async (number: number, id: string) =>
    (await collectionOf(rebuild.databaseOf(number), 'tag').countDocuments({ _id: id })) === 1;
  const openFor = async (id: string) =>
    (await deadLettersOf(rebuild.control).findOne({ _id: id }))?.generations;

  test('are re-driven on each living generation that lacks the record, then removed', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'ready'), generation(3, 'dropped')]);
    const both = await rejectedOn('tag_2', [1, 2]);
    const second = await rejectedOn('tag_3', [2]);
    expect(await redrive(both, second)).toMatchObject({ applied: 2, refused: 0, refusals: [] });
    expect(await Promise.all([isIn(1, 'tag_2'), isIn(2, 'tag_2')])).toEqual([true, true]);
    expect(await Promise.all([isIn(1, 'tag_3'), isIn(2, 'tag_3')])).toEqual([false, true]);
    expect([await openFor(both), await openFor(second)]).toEqual([undefined, undefined]);
  });

  test('have the worse outcome of two generations', async () => {
    await rebuild.given(activeAndReady());
    const known = { orgId: 'org_2', version: 1, revision: 1, position: null, state: {} };
    const refusedOn = async (number: number, id: string) => {
      await collectionOf<StoredDocument>(rebuild.databaseOf(number), 'tag').insertOne({ _id: id, ...known });
      return rejectedOn(id, [1, 2]);
    };
    const refused = [await refusedOn(1, 'tag_6'), await refusedOn(2, 'tag_7')];
    expect(await redrive(...refused)).toMatchObject({ applied: 0, refused: 2 });
    expect(await Promise.all(refused.map(openFor))).toEqual([[1], [2]]);
  });

  test('stay open if their generation is dropped while they are re-driven', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'dropping')]);
    const id = await rejectedOn('tag_8', [2]);
    const target = {
      ...rebuild,
      generation: 2,
      store: mongoStore(rebuild.databaseOf(2)),
      prefix: rebuild.config.TOPIC_PREFIX,
      tombstoneDays: 30,
      now: () => present,
    };
    const letters = await deadLettersOf(rebuild.control).find({ _id: id }).toArray();
    const readable = letters.map((deadLetter) => ({ deadLetter, record: recordOf(deadLetter) }));
    await expect(redriveOn(target, readable, { dryRun: false })).rejects.toThrow(
      'generation 2 is being dropped',
    );
    expect(await openFor(id)).toEqual([2]);
  });

  test('stay open for a generation of another release, and say that it must re-drive them', async () => {
    await rebuild.given([
      generation(1, 'standby', { projectionVersion: projectionVersion + 1 }),
      generation(2, 'active'),
    ]);
    const both = await rejectedOn('tag_4', [1, 2]);
    expect(await redrive(both)).toMatchObject({ applied: 1, refused: 0 });
    expect(await Promise.all([isIn(1, 'tag_4'), isIn(2, 'tag_4')])).toEqual([false, true]);
    expect(await openFor(both)).toEqual([1]);
    const again = await redrive(both);
    expect(again).toMatchObject({ applied: 0, refused: 1 });
    expect(again.refusals[0]?.detail).toContain('open for generation 1 only, of another release');
    // That release can still apply the record, so a purge is not advised, not even if only its head is stored.
    const letters = await deadLettersOf(rebuild.control).find().toArray();
    expect(await nextSteps(deps(), letters)).toEqual(new Map());
    const truncated = { keyBytes: 1, headersBytes: 0, valueBytes: 1, sha256: '' };
    await deadLettersOf(rebuild.control).updateOne({ _id: both }, { $set: { truncated } });
    expect(await nextSteps(deps(), letters)).toEqual(new Map([[both, 'redrive']]));
    // A list reads the bytes of the first 4 MB alone.
    const large = letters.map((letter) => ({ ...letter, bytes: 5_000_000 }));
    const listed = await nextSteps(deps(), [...large, { _id: 'other', bytes: 1 }]);
    expect(listed.get('other')).toBe('show');
    expect((await redrive(both)).refusals[0]?.detail).toContain('publish it again');
    expect(await openFor(both)).toEqual([1]);
  });

  test('are carried over to a promoted generation if Kafka has deleted the record, or does not answer for it', async () => {
    const { topics } = await rebuild.topicWith({ 'cleanup.policy': 'compact,delete' });
    const [topic = ''] = topics;
    await rebuild.truncate(topic);
    await rebuild.given(activeAndReady());
    const letters = [
      { _id: `${topic}/0/1`, offset: 1, generations: [1] },
      { _id: `${topic}/0/2`, offset: 2, generations: [1] },
      { _id: `${topic}/1/2`, offset: 2, partition: 1, generations: [1] },
      { _id: 'of a topic that no broker answers for', offset: 2, topic: 'other', generations: [1] },
      { _id: 'of another generation', offset: 0, generations: [3] },
    ];
    for (const letter of letters) await rebuild.deadLetter({ topic, ...letter });
    expect(await rebuild.switchOnce(2, {}, { topics })).toMatchObject({ outcome: 'promoted' });
    expect(await Promise.all(letters.map(({ _id }) => openFor(_id)))).toEqual([
      ...[[1, 2], [1], [1, 2], [1, 2], [3]],
    ]);
  });

  test('are carried over by a rollback while no partition has a leader', async () => {
    await rebuild.given([generation(1, 'standby'), generation(2, 'active')]);
    await rebuild.deadLetter({ _id: 'open', generations: [2] });
    const { log } = rebuild.deps();
    const read = async (topics: string[]) => ({ ...(await log.read(topics)), ends: new Map() });
    const rolledBack = await rebuild.switchOnce(1, { step: 'rollback' }, { log: { ...log, read } });
    expect(rolledBack).toMatchObject({ outcome: 'rolled-back' });
    expect(await openFor('open')).toEqual([2, 1]);
  });
});
