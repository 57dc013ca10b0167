import type { WaitingProjector } from '../../shared/control/waiting-projectors.ts';
import { before, facts, gap, own, type Changes } from '../../tests/support/facts.ts';
import { findings } from './findings.ts';

const silent = { savedAt: before(31) };

describe('a projector that says why it applies nothing', () => {
  const entry = (state: WaitingProjector['state'], secondsAgo: number, generation: number | null = null) => ({
    ...{ _id: `h ${secondsAgo}`, host: 'h', pid: secondsAgo, generation, state },
    ...{ reason: 'certificate has expired', at: before(secondsAgo) },
  });
  const told = (changes: Changes, ...waiting: WaitingProjector[]) => {
    const found = findings(facts([own(1, 'active', changes)], { waiting })).find(
      ({ name }) => name === 'projectors',
    );
    return found && `${found.text}; ${found.remedy}`;
  };
  const restart = 'GENERATION=1 npm run projector';
  const ended = { _id: 1, reason: 'gone', by: 'p', at: before(20) };

  test.each<[string, Changes, WaitingProjector[], string | undefined]>([
    [
      'that runs without Kafka is not said to have ended',
      silent,
      [entry('cut_off', 9), entry('cut_off', 10)],
      'its projectors run, but are cut off from Kafka since 2026-11-24T11:59:29.000Z: process 9 on h (and 1 other): ' +
        'certificate has expired; null',
    ],
    [
      'that waits at its first start',
      { savedAt: null, watermark: null, lagSeconds: null },
      [entry('starting', 9, 1)],
      'a projector cannot start: process 9 on h: certificate has expired; null',
    ],
    [
      'whose start was refused, so that its supervisor or an operator starts it again',
      { ...silent, failure: ended },
      [entry('refused', 9)],
      `a projector cannot start: process 9 on h: certificate has expired; ${restart}`,
    ],
    [
      'and that has ended since',
      { ...silent, failure: ended },
      [entry('cut_off', 21)],
      `its projectors ended at 2026-11-24T11:59:40.000Z: gone; ${restart}`,
    ],
    [
      'of a generation that no projector can continue',
      { ...silent, gaps: [gap] },
      [entry('starting', 0)],
      expect.stringMatching(/^no projector can continue since .*; npx support-cli rebuild start$/) as string,
    ],
    [
      'of another generation',
      silent,
      [entry('starting', 9, 2)],
      `no projector has run since 2026-11-24T11:59:29.000Z; ${restart}`,
    ],
    ['while others follow', {}, [entry('cut_off', 9)], undefined],
  ])('%s', (_, changes, waiting, expected) => {
    expect(told(changes, ...waiting)).toEqual(expected);
  });
});
