import { type ProcessState, type Projector, projectorsOf } from '../../shared/control/processes.ts';
import { before, type Changes, facts, factsOf, gap, projector } from '../../tests/support/facts.ts';
import { matching } from '../../tests/support/matchers.ts';
import { evaluateRules } from './findings.ts';

const silent = { savedAt: before(31) };

describe('a projector that reports why it applies nothing', () => {
  const entry = (state: ProcessState, secondsAgo: number, changes: Partial<Projector> = {}) =>
    projector({
      ...{ _id: `${state} ${secondsAgo}`, pid: secondsAgo, state, reason: 'certificate has expired' },
      ...{ at: before(secondsAgo), ...changes },
    });
  const reported = (changes: Changes, ...projectors: Projector[]) => {
    const waitingFacts = facts([
      factsOf(1, 'active', { ...changes, projectors: projectorsOf(projectors, 1, 1) }),
    ]);
    const found = evaluateRules(waitingFacts).find(({ name }) => name === 'projectors');
    return found && `${found.text}; ${found.fix}`;
  };
  const restart = 'GENERATION=1 npm run projector';
  const ended = (secondsAgo: number) => entry('ended', secondsAgo, { reason: 'gone' });

  test.each<{ name: string; changes: Changes; projectors: Projector[]; expected: string | undefined }>([
    {
      name: 'that runs without Kafka is not reported as ended',
      changes: silent,
      projectors: [entry('cut_off', 9), entry('cut_off', 10)],
      expected:
        'its projectors run, but are cut off from Kafka since 2026-11-24T11:59:29.000Z: process 9 on h (and 1 other): ' +
        'certificate has expired; null',
    },
    {
      name: 'that waits at its first start',
      changes: { savedAt: null, watermark: null, lagSeconds: null },
      projectors: [entry('starting', 9)],
      expected: 'a projector cannot start: process 9 on h: certificate has expired; null',
    },
    {
      name: 'whose start was refused, so that the same start does not help',
      changes: silent,
      projectors: [entry('refused', 9), ended(20)],
      expected: `a projector cannot start: process 9 on h: certificate has expired; null`,
    },
    {
      name: 'and that has ended since',
      changes: silent,
      projectors: [entry('cut_off', 21), ended(20)],
      expected: `its projectors ended at 2026-11-24T11:59:40.000Z: gone; ${restart}`,
    },
    {
      name: 'of a generation that no projector can continue',
      changes: { ...silent, gaps: [gap] },
      projectors: [entry('starting', 0)],
      expected: matching(/^no projector can continue since .*; npx support-cli rebuild start$/),
    },
    {
      name: 'of another generation',
      changes: silent,
      projectors: [entry('starting', 9, { generation: 2 })],
      expected: `no projector has run since 2026-11-24T11:59:29.000Z; ${restart}`,
    },
    {
      name: 'whose start has just begun, and follows the active generation',
      changes: silent,
      projectors: [entry('starting', 1, { generation: null, reason: null })],
      expected: 'a projector is starting: process 1 on h; null',
    },
    {
      name: 'and was killed since',
      changes: silent,
      projectors: [entry('cut_off', 11)],
      expected: `no projector has run since 2026-11-24T11:59:29.000Z; ${restart}`,
    },
    {
      name: 'beside one that has ended',
      changes: silent,
      projectors: [ended(1), entry('cut_off', 9)],
      expected: matching(/^its projectors run, but are cut off from Kafka/),
    },
    {
      name: 'because it was asked to end',
      changes: silent,
      projectors: [entry('ended', 20, { reason: null })],
      expected: `no projector has run since 2026-11-24T11:59:29.000Z; ${restart}`,
    },
    {
      name: 'before another one continued, which was killed',
      changes: { ...silent, savedBy: 'other' },
      projectors: [ended(40), entry('refused', 50)],
      expected: `no projector has run since 2026-11-24T11:59:29.000Z; ${restart}`,
    },
    {
      name: 'and that saved its progress once more while it ended',
      changes: { ...silent, savedBy: 'ended 40' },
      projectors: [ended(40)],
      expected: `its projectors ended at 2026-11-24T11:59:20.000Z: gone; ${restart}`,
    },
    {
      name: 'because it was refused long ago',
      changes: { savedAt: null, watermark: null, lagSeconds: null },
      projectors: [entry('refused', 601)],
      expected: `no projector has run on it yet; ${restart}`,
    },
    { name: 'while others follow', changes: {}, projectors: [entry('cut_off', 9)], expected: undefined },
  ])('$name', ({ changes, projectors, expected }) => {
    expect(reported(changes, ...projectors)).toEqual(expected);
  });
});
