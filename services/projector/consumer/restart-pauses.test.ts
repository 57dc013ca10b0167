import { createRestartPauses } from './restart-pauses.ts';

test('a consumer that fails again and again restarts after pauses that grow to ten seconds', () => {
  let nowMs = 0;
  const pauseMs = createRestartPauses(() => nowMs);
  const pauses = Array.from({ length: 12 }, () => {
    nowMs += 30_000;
    return pauseMs() / 1_000;
  });
  expect(pauses).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]);
  nowMs += 60_001;
  expect(pauseMs()).toBe(0);
});
