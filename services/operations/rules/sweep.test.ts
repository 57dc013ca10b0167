import type { Projector } from '../../../shared/control/processes.ts';
import { before, facts, factsOf, projector } from '../../../tests/support/facts.ts';
import { evaluateRules } from '../findings.ts';

const found = (secondsAgo: number, lastSecondsAgo = 0) => {
  const sweep = { failingSince: before(secondsAgo), at: before(lastSecondsAgo), reason: 'not authorized' };
  return evaluateRules(facts([factsOf(1, 'active', { projectors: [projector({ duties: { sweep } })] })])).map(
    ({ text }) => text,
  );
};

test('a sweep is reported with its reason only after several failures', () => {
  expect(found(600)).toEqual([]);
  expect(found(601)).toEqual([
    expect.stringMatching(
      /^data past its retention stays in MongoDB, because every sweep since 2026.*: not authorized/,
    ),
  ]);
});

test('the last sweep of a generation counts for all of its projectors', () => {
  const failing = { failingSince: before(3_600), at: before(9), reason: 'not authorized' };
  const swept = (secondsAgo: number) => ({ at: before(secondsAgo), failingSince: null, reason: null });
  const sweeps = (...both: Projector['duties']['sweep'][]) => {
    const projectors = both.map((sweep, index) => projector({ _id: `${index}`, duties: { sweep } }));
    return evaluateRules(facts([factsOf(1, 'active', { projectors })])).length;
  };
  expect([sweeps(failing, null), sweeps(failing, swept(10)), sweeps(failing, swept(8))]).toEqual([1, 1, 0]);
});

test('the time in which no projector has swept does not count', () => {
  expect(found(3_600, 3_000)).toEqual([]);
  expect(found(3_601, 3_000)).toHaveLength(1);
});
