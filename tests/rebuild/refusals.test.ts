import { changeRegistry } from '../../services/projector/generations/registry.ts';
import { switchTo, type OnStep, type Switched } from '../../services/projector/generations/switch.ts';
import type { SwitchOptions } from '../../services/projector/generations/checks.ts';
import { configure } from '../../services/projector/generations/transitions.ts';
import { progressOf, watermarksOf } from '../../shared/store/progress.ts';
import { activeAndReady, generation, openRebuild, report, secondsBefore, type Rebuild } from './fixture.ts';

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
const dayAndHour = 25 * 3_600;

const saysOfReject = [
  '1 records are dead letters here only',
  '/0/5 (not_json: no JSON)',
  'mend and re-drive',
  '--allow-rejects',
];

const refusals: Refusal[] = [
  [
    'a partition in which less is applied than is served',
    moveBack,
    'offsets',
    ['is applied up to 0, but what is served up to 8', 'rebuild await 2', '--accept-older'],
    { acceptOlder: true },
  ],
  [
    'an older watermark than what is served has',
    (rebuild) => watermarkOf(rebuild, 2, secondsBefore(60)),
    'freshness',
    ['54 s behind what is served', 'rebuild await 2', '--accept-older'],
    { acceptOlder: true },
  ],
  [
    'no verification',
    ({ set }) => set(2, { report: undefined as never }),
    'verified',
    ['generation 2 was not verified', 'rebuild verify 2'],
    null,
  ],
  [
    'a verification against another generation',
    ({ set }) => set(2, { report: report({ against: 9 }) }),
    'verified',
    ['it compared with generation 9, and 1 is active now', 'rebuild verify 2'],
    null,
  ],
  [
    'a verification of another projection version',
    ({ set }) => set(2, { report: report({ versions: { generation: 2, against: 1 } }) }),
    'verified',
    ['a projection version has changed since', 'rebuild verify 2'],
    null,
  ],
  [
    'a verification of a log that began elsewhere',
    ({ set, topics }) => set(2, { report: report({ lows: [{ partition: `${topics[0]}/0`, low: 3 }] }) }),
    'verified',
    ['/0 begins elsewhere now', 'rebuild verify 2'],
    null,
  ],
  [
    'a verification of more than a day ago',
    ({ set }) => set(2, { report: report({ at: secondsBefore(dayAndHour) }) }),
    'verified',
    ['it is older than a day', 'rebuild verify 2'],
    null,
  ],
  [
    'differences in the report',
    ({ set }) => set(2, { report: report({ differences: 2 }) }),
    'verified',
    ['2 of 3 documents differ', '--expect', 'rebuild verify 2'],
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
    'a hold',
    ({ set }) => set(2, { hold: { by: 'bob@host', at: secondsBefore(60), reason: 'after the holidays' } }),
    'hold',
    ['held by bob@host', 'after the holidays', 'rebuild release 2'],
    null,
  ],
  [
    'a time behind for which Kafka does not keep tombstones',
    ({ set }) => set(2, { longestBehindSeconds: 7 * 24 * 3_600 }),
    'tombstones',
    ['was 168 hours behind', 'drops tombstones after 168 hours', 'rebuild drop 2'],
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
    'such a record that has just been re-driven in vain',
    ({ deadLetter }) => deadLetter({ lastAt: secondsBefore(1), count: 2 }),
    'rejects',
    saysOfReject,
    { allowRejects: true },
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

  test('nothing, where every condition holds', async () => {
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

  test('a rollback to a standby that may have missed a tombstone', async () => {
    const standby = generation(1, 'standby', { longestBehindSeconds: 8 * 24 * 3_600 });
    await rebuild.given([standby, generation(2, 'active')]);
    const before = await rebuild.everything();
    const refused = await promote({ needsReport: false, allowRejects: true }, undefined, 1);
    expect(failed(refused).map(({ name }) => name)).toEqual(['tombstones']);
    expect(await rebuild.everything()).toEqual(before);
    // given one that may not, it is served again without a report
    await rebuild.set(1, { longestBehindSeconds: 6 * 24 * 3_600 });
    expect(await promote({ needsReport: false, allowRejects: true }, undefined, 1)).toMatchObject({
      outcome: 'promoted',
    });
  }, 60_000);

  test('no dead letter that both have, or that either may not have come to yet', async () => {
    await rebuild.deadLetter({ generations: [1, 2] });
    await rebuild.deadLetter({ _id: 'later', firstAt: secondsBefore(3), lastAt: secondsBefore(3) });
    expect(failed(await promote())).toEqual([]);
  }, 60_000);

  test('what was changed after the checks', async () => {
    const steps: string[] = [];
    const refused = await promote({}, async (step) => {
      steps.push(step);
      if (step === 'switch') await holdAfterwards(rebuild);
    });
    expect(refused.outcome).toBe('refused');
    expect(failed(refused).map(({ name }) => name)).toEqual(['hold']);
    expect(steps).toEqual(['carry over', 'switch']);
    expect(await rebuild.states()).toEqual({ 1: 'active', 2: 'ready' });
  }, 60_000);

  test('a dry run, which says the same and changes nothing', async () => {
    const before = await rebuild.everything();
    const options = { acceptOlder: false, allowRejects: false, needsReport: true };
    const dry = { ...options, why: 'test', dryRun: true, timeoutSeconds: 0 };
    expect(await switchTo(rebuild.deps(), 2, dry)).toMatchObject({ outcome: 'dry-run' });
    await rebuild.set(2, { report: report({ differences: 1 }) });
    expect(failed(await switchTo(rebuild.deps(), 2, dry)).map(({ name }) => name)).toEqual(['verified']);
    await rebuild.set(2, { report: report() });
    expect(await rebuild.everything()).toEqual(before);
  }, 60_000);
});

/** Another operator holds the build: one change of the registry, with its revision. */
async function holdAfterwards({ deps }: Rebuild): Promise<void> {
  const { control, by, now } = deps();
  const hold = { by: 'bob@host', at: await now(), reason: 'wait' };
  await changeRegistry(control, configure(2, { hold }, { by, at: await now(), why: 'held: wait' }));
}
