import type { OnStep } from '../../services/operations/deps.ts';
import { RebuildRefused } from '../../shared/control/generations.ts';
import { activeAndReady, useRebuild, present } from './fixture.ts';
import { activeAndStandby, later, nothing, operatorsOf, stepsOf } from './operators.ts';

const rebuild = useRebuild();
const on = operatorsOf(rebuild);

/** Runs a second operator to its end while the first one waits before a step. */
async function interleaved(
  step: string,
  first: (onStep: OnStep) => Promise<string>,
  second: () => Promise<string>,
): Promise<string[]> {
  const outcome = (running: Promise<string>) =>
    running.catch((error: unknown) => {
      if (error instanceof RebuildRefused) return 'refused';
      throw error;
    });
  const others: Promise<string>[] = [];
  const one = await outcome(
    first(async (at) => {
      if (at === step && others.length === 0) others.push(outcome(second()));
      await others[0];
    }),
  );
  return [one, (await others[0]) ?? `${step} was not reached`];
}

describe('two operators at once leave one active generation and a true history:', () => {
  const second = {
    promote: () => on.promote(undefined, later, 'bob@host'),
    drop: () => on.drop(undefined, later, 'bob@host'),
    compare: () => on.compare(),
  };

  /** After another change the promotion makes its checks again. */
  test.each<[keyof typeof second, string, string[], string[]]>([
    ['promote', 'carry over', ['was-active', 'promoted'], ['1 standby by bob', '2 active by bob']],
    ['promote', 'switch', ['was-active', 'promoted'], ['1 standby by bob', '2 active by bob']],
    ['promote', 'wait for replicas', ['promoted', 'was-active'], ['1 standby by ann', '2 active by ann']],
    ['drop', 'carry over', ['refused', 'dropped'], ['2 dropping by bob', '2 dropped by bob']],
    ['drop', 'switch', ['refused', 'dropped'], ['2 dropping by bob', '2 dropped by bob']],
    ['drop', 'wait for replicas', ['promoted', 'refused'], ['1 standby by ann', '2 active by ann']],
    [
      'compare',
      'carry over',
      ['promoted', 'compared'],
      ['2 ready by bob', '1 standby by ann', '2 active by ann'],
    ],
    [
      'compare',
      'switch',
      ['promoted', 'compared'],
      ['2 ready by bob', '1 standby by ann', '2 active by ann'],
    ],
    [
      'compare',
      'wait for replicas',
      ['promoted', 'compared'],
      ['1 standby by ann', '2 active by ann', '2 active by bob'],
    ],
  ])('%s, while a promotion is before its step "%s"', async (verb, step, outcomes, history) => {
    await on.given(activeAndReady());
    expect(await interleaved(step, on.promote, second[verb])).toEqual(outcomes);
    expect(await on.historyOf()).toEqual(history);
    await on.expectLivable();
  });

  test('a drop, and another drop or a promotion, at each step', async () => {
    await on.given(activeAndReady());
    for (const step of await stepsOf(on.drop)) {
      await on.given(activeAndReady());
      const drops = await interleaved(step, on.drop, second.drop);
      const isBegun = step !== 'wait for readers' && step !== 'begin';
      expect([step, ...drops]).toEqual([step, isBegun ? 'dropped' : 'was-dropped', 'dropped']);
      expect([await on.remains(1), await on.remains(2)]).toEqual([on.everythingOf(), nothing]);
      const by = isBegun ? 'ann' : 'bob';
      expect(await on.historyOf()).toEqual([`2 dropping by ${by}`, '2 dropped by bob']);
      // and a promotion succeeds only before the drop begins
      await on.given(activeAndReady());
      const outcomes = await interleaved(step, on.drop, second.promote);
      expect([step, ...outcomes]).toEqual([
        step,
        ...(isBegun ? ['dropped', 'refused'] : ['refused', 'promoted']),
      ]);
      await on.expectLivable();
    }
  });

  test('a drop of a standby that was active again since the drop read the registry', async () => {
    for (const force of [false, true]) {
      await on.given(activeAndStandby());
      const servedAgain = async () => {
        await on.switching(2, 'rollback')(undefined, present, 'bob@host');
        return on.rollBack(undefined, present, 'bob@host');
      };
      // Without --force it is a young standby. With it, requests from before the rollback may still read it.
      const outcomes = await interleaved(
        'begin',
        (onStep) => on.drop(onStep, present, 'ann@host', force),
        servedAgain,
      );
      expect(outcomes).toEqual(['refused', 'rolled-back']);
      expect(await on.remains(2)).toEqual(on.everythingOf());
      await on.expectLivable();
    }
  });
});
