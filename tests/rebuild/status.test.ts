import { projectionVersion } from '../../shared/control/generations.ts';
import * as verbs from '../../services/cli/rebuild/verbs.ts';
import { failuresOf } from '../../shared/control/failures.ts';
import type { Measured } from '../../services/operations/rebuild/measure.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { generation, useRebuild, present, secondsBefore } from './fixture.ts';

const rebuild = useRebuild();

describe('an operator is told', () => {
  const wait = (timeout = 0) => ({ generation: 2, maxLag: 10, timeout });

  test('the status of every living generation', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'ready'), generation(3, 'dropped')]);
    await rebuild.deadLetter({ generations: [1, 2] });
    const { output, exitCode } = await rebuild.runJson(verbs.status, {});
    expect(exitCode).toBe(0);
    const topics = rebuild.topics
      .toSorted()
      .map((topic) => ({
        topic,
        position: 0,
        end: 0,
        lag: 0,
        lagSeconds: 1,
        recordsPerSecond: 0,
        secondsLeft: 0,
      }));
    const same = {
      projectionVersion,
      watermark: secondsBefore(6).toISOString(),
      lagSeconds: 1,
      lag: 0,
      savedAt: present.toISOString(),
      rejects: [],
      rejectCount: 0,
      stopped: null,
      afterLoad: 0,
      topics,
      partitions: topics.map((topic) => ({ ...topic, partition: 0 })),
    };
    expect(output).toEqual({
      active: 1,
      generations: [
        { ...same, number: 1, state: 'active', condition: 'active', waitsFor: [] },
        { ...same, number: 2, state: 'ready', condition: 'ready', waitsFor: [] },
      ],
    });
  });

  test('that the time is up, and why the build waits', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'building')]);
    await progressOf(rebuild.control).updateMany(
      { generation: 2 },
      { $set: { updatedAt: secondsBefore(60) } },
    );
    const { output, exitCode } = await rebuild.runJson(verbs.awaitVerb, wait());
    expect({ output, exitCode }).toEqual({ exitCode: 1, output: { generation: 2, outcome: 'time is up' } });
    const { text } = await rebuild.run(verbs.awaitVerb, wait());
    expect(text).toContain('no projector has run since');
    expect(text).toContain('GENERATION=2 npm run projector');
  });

  test('that a build fails because it rejects records that the API serves', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'building')]);
    await rebuild.deadLetter();
    expect(await rebuild.runJson(verbs.awaitVerb, wait(600))).toMatchObject({
      exitCode: 3,
      output: { outcome: 'failing', rejects: [{ reason: 'not_json', detail: 'no JSON' }] },
    });
  });

  test('that it is ready, and that there is no such generation', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'ready')]);
    expect(await rebuild.runJson(verbs.awaitVerb, wait())).toEqual({
      exitCode: 0,
      output: { generation: 2, outcome: 'ready' },
    });
    await rebuild.given([generation(1, 'active'), generation(2, 'dropped')]);
    await expect(rebuild.run(verbs.awaitVerb, wait())).rejects.toThrow('generation 2 was dropped');
  });

  test('at once if waiting for a generation cannot help, and why', async () => {
    // given a projector of the build that ended at a gap in the log
    await rebuild.given([generation(1, 'active'), generation(2, 'catching-up')]);
    const reason = 'tags/0: the records from offset 3 to 7 are gone';
    await failuresOf(rebuild.control).insertOne({
      _id: 2,
      reason,
      isFinal: true,
      by: 'projector',
      at: present,
    });
    expect(await rebuild.runJson(verbs.awaitVerb, wait(600))).toMatchObject({
      exitCode: 3,
      output: { outcome: 'stopped' },
    });
    const { text } = await rebuild.run(verbs.status, {});
    expect(text).toContain(`generation 2  stopped (catching-up): its projectors ended at`);
    expect(text).toContain(`${reason}: rebuild drop 2, and start another`);
    expect(text).not.toContain('GENERATION=2 npm run projector');
  });

  test('that a topic of the active generation was created again, so that its lag is unknown', async () => {
    await rebuild.given([generation(1, 'active')]);
    const [topic = ''] = rebuild.topics.toSorted();
    await rebuild.recreateTopic(1, topic);
    const { output } = await rebuild.runJson(verbs.status, {});
    const { generations } = output as { generations: Measured[] };
    expect(generations[0]).toMatchObject({ condition: 'stopped', stopped: { isFinal: true } });
    expect(generations[0]?.topics[0]).toMatchObject({ topic, position: 31, end: 0, lag: null });
    const { text } = await rebuild.run(verbs.status, {});
    expect(text).toContain(`generation 1  stopped (active): ${topic}: deleted and created again`);
    expect(text).toContain('After a gap');
  });

  test('that the log of a partition cannot be read, so that its lag is unknown', async () => {
    await rebuild.given([generation(1, 'active')]);
    const [topic = ''] = rebuild.topics.toSorted();
    const { log } = rebuild.deps();
    const read = async (topics: string[]) => {
      const state = await log.read(topics);
      state.ends.delete(`${topic}/0`);
      return { ...state, unreachable: [{ broker: '7', error: new Error('connect ECONNREFUSED') }] };
    };
    const { text } = await rebuild.run(verbs.status, { json: true }, { log: { read } });
    const [measured] = (JSON.parse(text) as { generations: Measured[] }).generations;
    expect(measured?.partitions).toHaveLength(rebuild.topics.length);
    expect(measured?.partitions[0]).toMatchObject({ topic, partition: 0, position: 0, lag: null });
    expect(measured?.waitsFor).toEqual([
      `${topic}/0: its log cannot be read, because no leader answers`,
      'broker 7 does not answer: connect ECONNREFUSED',
    ]);
  });

  test('that the active generation lags, and that it missed tombstones', async () => {
    const missed = { longestBehindSeconds: 8 * 24 * 3_600 };
    await rebuild.given([generation(1, 'active', missed)]);
    await rebuild.setWatermark(1, secondsBefore(60));
    const { output } = await rebuild.runJson(verbs.status, {});
    const { generations } = output as { generations: Measured[] };
    expect(generations[0]?.condition).toBe('lagging');
    expect(generations[0]?.waitsFor).toEqual([expect.stringContaining('it may hold erased entities')]);
  });
});
