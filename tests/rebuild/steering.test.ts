import { runRebuild } from '../../services/cli/rebuild/run.ts';
import { createPositions } from '../../services/projector/consumer/positions.ts';
import { followRegistry } from '../../services/projector/generations/follow.ts';
import type { Measured } from '../../services/projector/generations/measure.ts';
import type { Demand } from '../../services/projector/generations/throttle.ts';
import type { Generation } from '../../shared/store/generations.ts';
import { progressOf, watermarksOf } from '../../shared/store/progress.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { pino } from 'pino';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { logEnds } from '../support/progress.ts';
import { applied, runProjector } from '../support/test-environment.ts';
import { generation, openRebuild, present, secondsBefore, type Rebuild } from './fixture.ts';
import { publish } from './live-traffic.ts';

type Command = Parameters<typeof runRebuild>[1];

let rebuild: Rebuild;
const cli = async (command: Command) => {
  const { text, exitCode } = await runRebuild(rebuild.deps(), command);
  return { exitCode, output: JSON.parse(String(text)) as Record<string, unknown> };
};
const json = true;

beforeAll(async () => {
  rebuild = await openRebuild();
}, 60_000);
afterAll(() => rebuild.close(), 60_000);

describe('what an operator asks of a projector', () => {
  /** Runs `use` while the registry is followed as generation 2. Returns the last demand on the throttle, and errors. */
  const following = async (use: (demand: () => Demand | undefined, fatal: Error[]) => Promise<void>) => {
    let last: Demand | undefined;
    const fatal: Error[] = [];
    const throttle = {
      demand: (demand: Demand) => void (last = demand),
      run: () => Promise.reject(new Error()),
    };
    const { stop } = followRegistry(
      {
        ...{ control: rebuild.control, generation: 2, allowanceMs: 5_000, by: 'projector' },
        ...{ throttle, positions: createPositions(() => 0) },
        ...{
          logger: pino({ level: 'silent' }),
          now: async () => present,
          onFatal: (error) => fatal.push(error),
        },
      },
      10,
    );
    await use(() => last, fatal).finally(stop);
  };
  const building = (changes: Partial<Generation> = {}) =>
    rebuild.given([generation(1, 'active'), generation(2, 'ready', changes)]);
  const activeIsBehind = (seconds: number) =>
    watermarksOf(rebuild.control).updateOne({ _id: 1 }, { $set: { completeTo: secondsBefore(seconds) } });

  test('is to yield while the active generation is behind, and to go on when it has caught up', async () => {
    await building();
    await following(async (demand) => {
      await eventually(() => demand()?.yields === false);
      // 5 seconds are the lateness allowance
      await activeIsBehind(36);
      await eventually(() => demand()?.yields === true);
      await activeIsBehind(35);
      await eventually(() => demand()?.yields === false);
    });
    // and one that was promoted yields to nobody
    await rebuild.given([generation(1, 'standby'), generation(2, 'active')]);
    await watermarksOf(rebuild.control).updateOne({ _id: 2 }, { $set: { completeTo: secondsBefore(3_000) } });
    await following(async (demand) => {
      await eventually(() => demand() !== undefined);
      expect(demand()).toMatchObject({ yields: false });
    });
  }, 60_000);

  test('is its pace and its pause', async () => {
    await building();
    await following(async (demand) => {
      expect(await cli({ verb: 'rebuild pace', pace: 250, json })).toMatchObject({ exitCode: 0 });
      await eventually(() => demand()?.pace === 250);
      await cli({ verb: 'rebuild pause', json });
      await eventually(() => demand()?.isPaused === true && demand()?.pace === 250);
      await cli({ verb: 'rebuild resume', json });
      await cli({ verb: 'rebuild pace', pace: undefined, json });
      await eventually(() => demand()?.isPaused === false && demand()?.pace === undefined);
    });
    expect((await rebuild.registry()).history.map(({ why }) => why)).toEqual([
      ...['at 250 records a second', 'paused', 'resumed', 'at full pace'],
    ]);
  }, 60_000);

  test('is to end when its generation is dropped', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'dropping')]);
    await following(async (_, fatal) => {
      await eventually(() => fatal.length > 0);
      expect(fatal[0]?.message).toBe('generation 2 was dropped; this projector ends');
    });
  }, 60_000);

  test('is not asked of a build, which advances when it is loaded and has caught up', async () => {
    const [topic = ''] = rebuild.topics;
    const loadTo = [{ topic, partition: 0, end: 5 }];
    await rebuild.given([generation(1, 'active'), generation(2, 'building', { loadTo })]);
    const set = (fields: object) =>
      progressOf(rebuild.control).updateOne({ _id: `2/${topic}/0` }, { $set: fields });
    const isState = async (state: string) => (await rebuild.states())[2] === state;
    await watermarksOf(rebuild.control).updateOne(
      { _id: 2 },
      { $set: { completeTo: secondsBefore(8 * 3_600) } },
    );
    await following(async (demand) => {
      await set({ position: 4 });
      // Readers of the active generation have room while it loads.
      await eventually(() => demand()?.oneAtATime === true);
      expect(await isState('building')).toBe(true);
      await set({ position: 5 });
      await eventually(() => isState('catching-up'));
      await watermarksOf(rebuild.control).updateOne({ _id: 2 }, { $set: { completeTo: secondsBefore(15) } });
      await eventually(() => isState('ready'));
      expect(demand()?.oneAtATime).toBe(false);
    });
    // and the longest time that it was behind is kept, for the tombstones
    expect((await rebuild.registry()).generations[1]?.longestBehindSeconds).toBe(8 * 3_600 - 5);
  }, 60_000);

  test('is a hold that is released', async () => {
    await building();
    await cli({ verb: 'rebuild hold', why: 'not before Monday', json });
    const held = async () => (await rebuild.registry()).generations[1]?.hold;
    expect(await held()).toEqual({ by: 'ann@host', at: present, reason: 'not before Monday' });
    await cli({ verb: 'rebuild release', json });
    expect(await held()).toBeUndefined();
  }, 60_000);
});

describe('what an operator is told', () => {
  const wait = (timeout = 0): Command => ({ verb: 'rebuild await', maxBehind: 10, timeout, json });

  test('the status of every living generation', async () => {
    await rebuild.given([
      generation(1, 'active'),
      generation(2, 'ready', { isPaused: true }),
      generation(3, 'dropped'),
    ]);
    await rebuild.deadLetter({ generations: [1, 2] });
    const { output, exitCode } = await cli({ verb: 'rebuild status', watch: false, json });
    expect(exitCode).toBe(0);
    const topics = rebuild.topics.toSorted().map((topic) => ({
      ...{ topic, position: 0, end: 0, lag: 0, behindSeconds: 1, recordsPerSecond: 0, secondsLeft: 0 },
    }));
    const same = {
      ...{ projectionVersion: 2, watermark: secondsBefore(6).toISOString(), behindSeconds: 1, lag: 0 },
      ...{ savedAt: present.toISOString(), rejects: [], rejectCount: 0, fanOuts: 0, afterLoad: 0 },
      topics,
    };
    expect(output).toEqual({
      active: 1,
      generations: [
        { ...same, number: 1, state: 'active', condition: 'active', waitsFor: [] },
        {
          ...same,
          number: 2,
          state: 'ready',
          condition: 'paused',
          waitsFor: ['it is paused: rebuild resume 2'],
        },
      ],
    });
  }, 60_000);

  test('that the time is up, with what the build waits for', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'building', { isPaused: true })]);
    await progressOf(rebuild.control).updateMany(
      { generation: 2 },
      { $set: { updatedAt: secondsBefore(60) } },
    );
    const { output, exitCode } = await cli(wait());
    expect({ output, exitCode }).toEqual({ exitCode: 1, output: { generation: 2, outcome: 'time is up' } });
    const { text } = await runRebuild(rebuild.deps(), { ...wait(), json: false });
    expect(text).toContain('no projector is running on it since');
    expect(text).toContain('GENERATION=2 npm run projector');
    expect(text).toContain('rebuild resume 2');
  }, 60_000);

  test('that a build fails, which rejects what is served', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'building')]);
    await rebuild.deadLetter();
    expect(await cli(wait(600))).toMatchObject({
      exitCode: 3,
      output: { outcome: 'failing', rejects: [{ reason: 'not_json', detail: 'no JSON' }] },
    });
  }, 60_000);

  test('that it is ready, and where there is no build', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'ready')]);
    expect(await cli(wait())).toEqual({ exitCode: 0, output: { generation: 2, outcome: 'ready' } });
    await rebuild.given([generation(1, 'active'), generation(2, 'dropped')]);
    expect(await cli(wait())).toMatchObject({
      exitCode: 1,
      output: { refused: expect.any(String) as string },
    });
  }, 60_000);
});

test('a paused projector applies nothing, stays alive, and goes on when it is resumed', async () => {
  await rebuild.given([generation(1, 'active', { isPaused: true })]);
  for (const name of ['progress', 'watermarks']) await rebuild.control.collection(name).deleteMany({});
  const projector = await runProjector(rebuild);
  const tags = collectionOf(rebuild.database, 'tag');
  try {
    // given a projector that knows of the pause, and of a record
    await publish(rebuild, [created('tag', 'tag_1')]);
    await eventually(async () => {
      const topic = rebuild.topics.find((name) => name.endsWith('.tags'));
      const progress = await progressOf(rebuild.control).findOne({ topic: topic ?? '' });
      return progress !== null && progress.end === 1;
    });
    expect(await progressOf(rebuild.control).countDocuments({ position: { $gt: 0 } })).toBe(0);
    expect([await tags.countDocuments(), projector.live()]).toEqual([0, null]);
    // when it is resumed
    await cli({ verb: 'rebuild resume', generation: 1, json });
    await applied(rebuild, () => projector.fatal);
    expect(await tags.countDocuments()).toBe(1);
  } finally {
    await projector.stop();
  }
}, 60_000);

test('a build loads the log up to its start, and applies what has come since once all of that is loaded', async () => {
  // given a build of a log that begins with one tag and one user, of which the user is still to come
  const topicOf = (plural: string) => rebuild.topics.find((name) => name.endsWith(`.${plural}`)) ?? '';
  const ends = await logEnds(rebuild.admin, rebuild.topics);
  const endOf = (topic: string) => ends.get(`${topic}/0`) ?? 0;
  const loadTo = rebuild.topics.map((topic) => ({ topic, partition: 0, end: endOf(topic) }));
  const [tags, users] = ['tags', 'users'].map((plural) =>
    loadTo.find(({ topic }) => topic === topicOf(plural)),
  );
  if (!tags || !users) throw new Error('no topic of tags or of users');
  tags.end += 1;
  users.end += 1;
  await rebuild.given([generation(1, 'active'), generation(2, 'building', { loadTo })]);
  for (const name of ['progress', 'watermarks']) await rebuild.control.collection(name).deleteMany({});
  await publish(rebuild, [created('tag', 'tag_before')]);
  const projector = await runProjector({ ...rebuild, config: { ...rebuild.config, GENERATION: 2 } });
  try {
    const database = rebuild.databaseOf(2);
    const has = async (id: string) => (await collectionOf(database, 'tag').findOne({ _id: id })) !== null;
    await eventually(() => has('tag_before'));
    // when a tag comes, and the user has not
    await publish(rebuild, [created('tag', 'tag_since')]);
    await eventually(async () => {
      const progress = await progressOf(rebuild.control).findOne({ generation: 2, topic: tags.topic });
      return progress?.end === tags.end + 1 && progress.position === tags.end;
    });
    const status = await cli({ verb: 'rebuild status', watch: false, json });
    // then the tag waits for the load
    expect([await has('tag_since'), projector.live()]).toEqual([false, null]);
    expect(status.output).toMatchObject({
      generations: [{}, { number: 2, state: 'building', afterLoad: 1 }],
    });
    const { generations } = status.output as { generations: Measured[] };
    expect(generations[1]?.waitsFor).toContainEqual(
      expect.stringContaining(
        `${users.topic}/0 is to be loaded up to offset ${users.end}, but ends at ${users.end - 1}`,
      ),
    );
    // and is applied after it
    await publish(rebuild, [created('user', 'user_last')]);
    await eventually(() => has('tag_since'));
    expect((await rebuild.states())[2]).not.toBe('building');
  } finally {
    await projector.stop();
  }
}, 60_000);
