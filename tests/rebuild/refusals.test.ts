import type { Db } from 'mongodb';
import { changeRegistry, beginDrop } from '../../services/projector/generations/registry.ts';
import { switchTo, type OnStep, type Switched } from '../../services/operations/rebuild/switch.ts';
import type { SwitchOptions } from '../../services/operations/rebuild/checks.ts';
import { failuresOf } from '../../services/projector/generations/last-failure.ts';
import { progressOf, topicIdsOf, watermarksOf } from '../../shared/store/progress.ts';
import { activeAndReady, openRebuild, report, secondsBefore, type Rebuild } from './fixture.ts';

type Options = Partial<SwitchOptions>;
/** What is wrong, how it comes about, the check that finds it, and what its message says. */
type Refusal = [
  title: string,
  arrange: (rebuild: Rebuild) => Promise<unknown>,
  check: string,
  says: string[],
  accept: Options | null,
];

const moveBack = ({ control, topics }: Rebuild) =>
  progressOf(control).updateOne({ _id: `1/${topics[0]}/0` }, { $set: { position: 8 } });
const watermarkOf = ({ control }: Rebuild, number: number, completeTo: Date) =>
  watermarksOf(control).updateOne({ _id: number }, { $set: { completeTo } });
/** The generation has applied a record of a topic that has another id now. */
async function createdAgain(control: Db, topic: string, number: number): Promise<void> {
  const topicId = '1'.repeat(32);
  await topicIdsOf(control).insertOne({ _id: `${number}/${topic}`, generation: number, topic, topicId });
  await progressOf(control).updateOne({ _id: `${number}/${topic}/0` }, { $set: { position: 31 } });
}

const dayAndHour = 25 * 3_600;

const saysOfReject = [
  '1 records are dead letters here only',
  '/0/5 (not_json: no JSON)',
  'fix the cause and re-drive them, purge the ones that you had purged before the build',
  '--allow-rejects',
];

const refusals: Refusal[] = [
  [
    'a partition in which less is applied than is served',
    moveBack,
    'offsets',
    ['this generation is at offset 0, the active one at 8', 'rebuild await 2', '--accept-older'],
    { acceptOlder: true },
  ],
  [
    'an older watermark than what is served has',
    (rebuild) => watermarkOf(rebuild, 2, secondsBefore(60)),
    'freshness',
    ['54 s older than that of the active generation', 'rebuild await 2', '--accept-older'],
    { acceptOlder: true },
  ],
  [
    'no comparison',
    ({ set }) => set(2, { report: undefined as never }),
    'compared',
    ['generation 2 was not compared with the active one', 'rebuild compare 2'],
    null,
  ],
  [
    'a comparison against another generation',
    ({ set }) => set(2, { report: report({ against: 9 }) }),
    'compared',
    ['it was made with generation 9, and 1 is active now', 'rebuild compare 2'],
    null,
  ],
  [
    'a comparison of another projection version',
    ({ set }) => set(2, { report: report({ versions: { generation: 2, against: 1 } }) }),
    'compared',
    ['a projection version has changed since', 'rebuild compare 2'],
    null,
  ],
  [
    'a comparison of a log that began elsewhere',
    ({ set, topics }) => set(2, { report: report({ lows: [{ partition: `${topics[0]}/0`, low: 3 }] }) }),
    'compared',
    ['/0 now begins at another offset', 'rebuild compare 2'],
    null,
  ],
  [
    'a comparison of more than a day ago',
    ({ set }) => set(2, { report: report({ at: secondsBefore(dayAndHour) }) }),
    'compared',
    ['it is older than a day', 'rebuild compare 2'],
    null,
  ],
  [
    'differences in the report',
    ({ set }) => set(2, { report: report({ differing: 2, differences: 8 }) }),
    'compared',
    ['2 of 3 documents differ', '--expect', 'rebuild compare 2'],
    null,
  ],
  [
    'a replica that cannot serve its projection version',
    ({ announceReplica }) => announceReplica({ versions: [1] }),
    'replicas',
    ['1 of 1 API replicas cannot serve', 'process 41 on api-1', "deploy the API's new release first"],
    null,
  ],
  [
    'a time behind for which Kafka does not keep tombstones',
    ({ set }) => set(2, { longestBehindSeconds: 7 * 24 * 3_600 }),
    'tombstones',
    ['had a lag of 168 hours', 'drops tombstones after 168 hours', 'rebuild drop 2'],
    null,
  ],
  [
    'a record that is a dead letter there only',
    ({ deadLetter }) => deadLetter(),
    'rejects',
    saysOfReject,
    { allowRejects: true },
  ],
  [
    'such a record that an operator has just re-driven without success',
    ({ deadLetter }) => deadLetter({ lastAt: secondsBefore(1), count: 2 }),
    'rejects',
    saysOfReject,
    { allowRejects: true },
  ],
  [
    'a topic that was created again, as no projector can continue it',
    ({ control, topics: [topic = ''] }) => createdAgain(control, topic, 2),
    'projectors',
    ['deleted and created again since its records were applied', 'rebuild drop 2, and start another'],
    null,
  ],
  [
    'projectors that have ended for good',
    async ({ control }) => {
      const failure = {
        reason: 'tags/0: records are gone',
        isFinal: true,
        by: 'projector',
        at: secondsBefore(2),
      };
      await failuresOf(control).insertOne({ _id: 2, ...failure });
    },
    'projectors',
    ['ended at', 'tags/0: records are gone', 'rebuild drop 2, and start another'],
    null,
  ],
  [
    'projectors that have been silent for 31 seconds',
    ({ control }) =>
      progressOf(control).updateMany({ generation: 2 }, { $set: { updatedAt: secondsBefore(31) } }),
    'projectors',
    ['no projector has run since', 'GENERATION=2 npm run projector'],
    null,
  ],
  [
    'a build that is not ready',
    ({ set }) => set(2, { state: 'catching-up' }),
    'state',
    ['generation 2 is catching-up', 'rebuild await 2'],
    null,
  ],
];

describe('a promotion is refused, and changes nothing, for', () => {
  let rebuild: Rebuild;
  const promote = (options: Options = {}, onStep?: OnStep, number = 2): Promise<Switched> =>
    switchTo(
      rebuild.deps(),
      number,
      {
        ...{ acceptOlder: false, allowRejects: false, needsReport: true, ...options },
        ...{ why: 'test', dryRun: false, timeoutSeconds: 0 },
      },
      onStep,
    );
  const failed = ({ checks }: Switched) => checks.filter(({ isMet }) => !isMet);

  beforeAll(async () => {
    rebuild = await openRebuild();
  }, 60_000);
  beforeEach(() => rebuild.given(activeAndReady()), 60_000);
  afterAll(() => rebuild.close(), 60_000);

  test('nothing, if every condition holds', async () => {
    expect(failed(await promote())).toEqual([]);
    expect(await rebuild.states()).toEqual({ 1: 'standby', 2: 'active' });
  }, 60_000);

  test.each(refusals)(
    '%s',
    async (_, arrange, check, says, accept) => {
      await arrange(rebuild);
      const before = await rebuild.everything();
      const refused = await promote();
      expect(refused.outcome).toBe('refused');
      expect(failed(refused).map(({ name }) => name)).toEqual([check]);
      for (const text of says) expect(failed(refused)[0]?.detail).toContain(text);
      expect(await rebuild.everything()).toEqual(before);
      // and a condition that an operator may waive does not hold a promotion up that waives it
      if (accept) {
        const { outcome, checks } = await promote(accept);
        expect(outcome).toBe('promoted');
        expect(checks.filter(({ isAccepted }) => isAccepted).map(({ name }) => name)).toEqual([check]);
      }
    },
    60_000,
  );

  test('no dead letter that both have, or that either may not have come to yet', async () => {
    await rebuild.deadLetter({ generations: [1, 2] });
    await rebuild.deadLetter({ _id: 'later', firstAt: secondsBefore(3), lastAt: secondsBefore(3) });
    expect(failed(await promote())).toEqual([]);
  }, 60_000);

  test('a generation that another operator drops after the checks', async () => {
    const steps: string[] = [];
    const refused = promote({}, async (step) => {
      steps.push(step);
      if (step === 'switch') await dropMeanwhile(rebuild);
    });
    await expect(refused).rejects.toThrow('generation 2 is being dropped');
    expect(steps).toEqual(['carry over', 'switch']);
    expect(await rebuild.states()).toEqual({ 1: 'active', 2: 'dropping' });
  }, 60_000);

  test('a record that it rejected since the active generation stopped', async () => {
    // given an active generation whose projectors stopped before the rejection
    await progressOf(rebuild.control).updateMany(
      { generation: 1 },
      { $set: { updatedAt: secondsBefore(90) } },
    );
    await watermarkOf(rebuild, 1, secondsBefore(90));
    await rebuild.deadLetter({ firstAt: secondsBefore(60) });
    expect(failed(await promote()).map(({ name }) => name)).toEqual(['rejects']);
  }, 60_000);

  test('nothing, if differences were waived; the checks and the history say which, and by whom', async () => {
    const expectations = [{ kind: 'ticket', field: 'joined.tags' }];
    await rebuild.set(2, { report: report({ expected: 8, expectations }) });
    const { outcome, checks } = await promote();
    const waived = '8 intended differences waived by bob@host (--expect ticket:joined.tags)';
    expect(outcome).toBe('promoted');
    expect(checks.filter(({ isAccepted }) => isAccepted)).toMatchObject([
      { name: 'compared', detail: expect.stringContaining(waived) as string },
    ]);
    expect((await rebuild.registry()).history.at(-1)?.why).toContain(waived);
  }, 60_000);

  test('a dry run, which says the same and changes nothing', async () => {
    const before = await rebuild.everything();
    const options = { acceptOlder: false, allowRejects: false, needsReport: true };
    const dry = { ...options, why: 'test', dryRun: true, timeoutSeconds: 0 };
    expect(await switchTo(rebuild.deps(), 2, dry)).toMatchObject({ outcome: 'dry-run' });
    await rebuild.set(2, { report: report({ differences: 1 }) });
    expect(failed(await switchTo(rebuild.deps(), 2, dry)).map(({ name }) => name)).toEqual(['compared']);
    await rebuild.set(2, { report: report() });
    expect(await rebuild.everything()).toEqual(before);
  }, 60_000);
});

/** Another operator begins to drop the build. */
async function dropMeanwhile({ deps }: Rebuild): Promise<void> {
  const { control, now } = deps();
  await changeRegistry(control, beginDrop(2, { by: 'bob@host', at: await now(), why: 'test' }));
}
