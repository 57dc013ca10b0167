import { setImmediate as turn } from 'node:timers/promises';
import { repeat } from './repeat.ts';

test('a run that is asked for begins at once, but none begins after a stop', async () => {
  let runs = 0;
  const { runNow, stop } = repeat(async () => void (runs += 1), {
    intervalMs: 3_600_000,
    onError: () => undefined,
  });
  await turn();
  runNow();
  expect(runs).toBe(2);
  await turn();
  await stop();
  runNow();
  expect(runs).toBe(2);
});
