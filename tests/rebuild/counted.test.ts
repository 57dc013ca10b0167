import { readOwnRejects } from '../../services/operations/own-rejects.ts';
import { dropGeneration } from '../../services/operations/rebuild/drop.ts';
import { expireMarks } from '../../services/projector/dead-letters/expire-marks.ts';
import { storeDeadLetters } from '../../services/projector/dead-letters/store-dead-letters.ts';
import { purgeMarksOf } from '../../shared/control/dead-letters.ts';
import { progressOf, watermarksOf } from '../../shared/control/progress.ts';
import { changeTallies, readTallies, talliesOf } from '../../shared/control/tallies.ts';
import { openTally, purgeOffsets } from '../../shared/control/tally.ts';
import { rawHeaders } from '../support/example-records.ts';
import { activeAndReady, generation, present, secondsBefore, useRebuild } from './fixture.ts';

describe('counted dead letters of two generations', () => {
  const rebuild = useRebuild();
  beforeEach(() => Promise.all([talliesOf, purgeMarksOf].map((of) => of(rebuild.control).deleteMany({}))));

  const count = (topic: string, offsets: number[], number: number) =>
    storeDeadLetters(
      {
        control: rebuild.control,
        prefix: rebuild.config.TOPIC_PREFIX,
        generation: number,
        now: () => secondsBefore(60),
        room: { left: async () => 'counted' as const, add: () => undefined },
      },
      topic,
      offsets.map((offset) => ({
        record: {
          key: null,
          value: Buffer.from('{'),
          headers: rawHeaders({}),
          position: { partition: 0, offset, timestampMs: 1 },
        },
        rejection: { reason: 'not_json' as const, detail: 'value: must be JSON' },
      })),
    );
  const lacking = async () => {
    const [entry] = (await readTallies(rebuild.control, {})).map(openTally).flatMap(({ entries }) => entries);
    return Object.fromEntries([...(entry?.lacking ?? [])].map(([number, offsets]) => [number, [...offsets]]));
  };

  test('are kept open for a promoted generation if Kafka has deleted their records', async () => {
    const { topics } = await rebuild.topicWith({ 'cleanup.policy': 'compact,delete' });
    const [topic = ''] = topics;
    await rebuild.truncate(topic);
    await rebuild.given(activeAndReady());
    await count(topic, [0, 1, 2], 1);
    expect(await rebuild.switchOnce(2, {}, { topics })).toMatchObject({ outcome: 'promoted' });
    expect(await lacking()).toEqual({ 1: [0, 1, 2], 2: [0, 1] });
  });

  test('are closed for a generation that is dropped', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'standby')]);
    await count('support.tags', [1, 2], 1);
    await count('support.tags', [2, 3], 2);
    await dropGeneration(rebuild.deps(), 2, { why: 'test', force: true, timeoutSeconds: 0 });
    expect(await lacking()).toEqual({ 1: [1, 2] });
  });

  test('of a build count against it once the active generation has passed them', async () => {
    await rebuild.given(activeAndReady());
    await count('support.tags', [5, 6, 7], 2);
    await count('support.tags', [6], 1);
    const at = (position: number) =>
      progressOf(rebuild.control).replaceOne(
        { _id: '1/support.tags/0' },
        {
          ...{ generation: 1, topic: 'support.tags', partition: 0, applied: { position }, end: 9 },
          ...{ completeTo: present, updatedAt: present },
        },
        { upsert: true },
      );
    for (const _id of [1, 2])
      await watermarksOf(rebuild.control).updateOne(
        { _id },
        { $set: { completeTo: present } },
        { upsert: true },
      );
    const own = () =>
      readOwnRejects(rebuild.control, { active: 1, number: 2, completeTo: present, now: present });
    await at(5);
    expect(await own()).toMatchObject({ count: 0 });
    await at(7);
    expect(await own()).toMatchObject({ count: 1, first: { reason: 'not_json' } });
    await at(8);
    expect(await own()).toMatchObject({ count: 2 });
  });

  test('and their marks of purges go when Kafka has deleted the records', async () => {
    const { topics } = await rebuild.topicWith({ 'cleanup.policy': 'compact,delete' });
    const [topic = ''] = topics;
    await rebuild.truncate(topic);
    const purge = { at: present, by: 'ann' };
    const mark = { topic, partition: 0, timestampMs: 1, reason: 'not_json' as const, ...purge };
    await purgeMarksOf(rebuild.control).insertMany([
      { _id: 'lost', ...mark, offset: 1 },
      { _id: 'in the log', ...mark, offset: 2 },
    ]);
    await count(topic, [0, 1], 1);
    await changeTallies(
      rebuild.control,
      (await readTallies(rebuild.control, {})).map(({ _id }) => _id),
      (tally) => purgeOffsets(tally, [0, 1], purge),
    );
    const log = rebuild.deps().log;
    await expireMarks(rebuild.control, log, topics);
    expect(await purgeMarksOf(rebuild.control).find().toArray()).toMatchObject([{ _id: 'in the log' }]);
    // A tally goes as a whole.
    expect(await readTallies(rebuild.control, {})).toHaveLength(1);
    const ends = new Map([[`${topic}/0`, { low: 10_000, end: 10_000, stable: 10_000 }]]);
    await expireMarks(
      rebuild.control,
      { read: async (given) => ({ ...(await log.read(given)), ends }) },
      topics,
    );
    expect(await readTallies(rebuild.control, {})).toEqual([]);
  });
});
