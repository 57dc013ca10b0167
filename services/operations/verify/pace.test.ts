import { createPace } from './pace.ts';

/** A clock that moves only while the pace waits, and when a batch takes time. */
function createTestPace(pace: number) {
  let nowMs = 0;
  const waits: number[] = [];
  const wait = async (ms: number) => {
    waits.push(ms);
    nowMs += ms;
  };
  const keepPace = createPace(pace, () => nowMs, wait as never);
  const batch = async (documents: number, tookMs: number) => {
    nowMs += tookMs;
    await keepPace(documents);
  };
  return { batch, waits };
}

test('the pace waits until the time for the documents of a batch is over', async () => {
  const { batch, waits } = createTestPace(100);
  await batch(100, 300);
  await batch(100, 0);
  expect(waits).toEqual([700, 1_000]);
});

test('the pace does not catch up after MongoDB was slow', async () => {
  const { batch, waits } = createTestPace(100);
  await batch(100, 30_000);
  await batch(100, 100);
  expect(waits).toEqual([900]);
});
