import { createLogLimit } from './log-limit.ts';

test('of the lines within a second the first is written, and the next one counts those left out', () => {
  let nowMs = 0;
  const lines: unknown[] = [];
  const limit = createLogLimit(() => nowMs);
  for (const atMs of [0, 1, 999, 1_000, 1_500, 2_000, 4_000]) {
    nowMs = atMs;
    limit((leftOut) => lines.push([atMs, leftOut]));
  }
  expect(lines).toEqual([
    [0, {}],
    [1_000, { suppressed: 2 }],
    [2_000, { suppressed: 1 }],
    [4_000, {}],
  ]);
});
