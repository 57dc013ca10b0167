import { createGate } from './gate.ts';

test('the latest end of all refusals holds a request, also if one comes during its wait', async () => {
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
