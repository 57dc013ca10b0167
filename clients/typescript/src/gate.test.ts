import { createGate } from './gate.ts';

test('a request waits until the latest end of all refusals, including those during the wait', async () => {
  const waitsMs: number[] = [];
  let nowMs = 0;
  const gate = createGate({
    nowMs: () => nowMs,
    sleep: async (delayMs) => {
      waitsMs.push(delayMs);
      nowMs += delayMs;
      if (waitsMs.length === 1) gate.closeFor(5_000);
    },
  });
  gate.closeFor(7_000);
  gate.closeFor(2_000);
  await gate.pass(undefined);
  expect(waitsMs).toEqual([7_000, 5_000]);
});
