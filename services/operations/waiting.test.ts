import type { WaitingProjector } from '../../shared/control/waiting-projectors.ts';
import { before, type Changes, facts, gap, own } from '../../tests/support/facts.ts';
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

  test.each<{ name: string; changes: Changes; waiting: WaitingProjector[]; expected: string | undefined }>([
    {
      name: 'that runs without Kafka is not said to have ended',
      changes: silent,
      waiting: [entry('cut_off', 9), entry('cut_off', 10)],
      expected:
        'its projectors run, but are cut off from Kafka since 2026-11-24T11:59:29.000Z: process 9 on h (and 1 other): ' +
        'certificate has expired; null',
    },
    {
      name: 'that waits at its first start',
      changes: { savedAt: null, watermark: null, lagSeconds: null },
      waiting: [entry('starting', 9, 1)],
      expected: 'a projector cannot start: process 9 on h: certificate has expired; null',
    },
    {
      name: 'whose start was refused, so that the same start is no remedy',
      changes: { ...silent, failure: ended },
      waiting: [entry('refused', 9)],
      expected: `a projector cannot start: process 9 on h: certificate has expired; null`,
    },
    {
      name: 'and that has ended since',
      changes: { ...silent, failure: ended },
      waiting: [entry('cut_off', 21)],
      expected: `its projectors ended at 2026-11-24T11:59:40.000Z: gone; ${restart}`,
    },
    {
      name: 'of a generation that no projector can continue',
      changes: { ...silent, gaps: [gap] },
      waiting: [entry('starting', 0)],
      expected: expect.stringMatching(
        /^no projector can continue since .*; npx support-cli rebuild start$/,
      ) as string,
    },
    {
      name: 'of another generation',
      changes: silent,
      waiting: [entry('starting', 9, 2)],
      expected: `no projector has run since 2026-11-24T11:59:29.000Z; ${restart}`,
    },
    { name: 'while others follow', changes: {}, waiting: [entry('cut_off', 9)], expected: undefined },
  ])('$name', ({ changes, waiting, expected }) => {
    expect(told(changes, ...waiting)).toEqual(expected);
  });
});
