import { idle } from '../../../tests/support/idle.ts';
import { received, startPartition } from '../../../tests/support/start-partition.ts';
import { batch, nothingApplied } from '../../../tests/support/test-partition.ts';

test('a chunk that arrives while another chunk is applied is the next after the end of that chunk', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  const startMs = performance.now();
  const arrivals: object[] = [];
  const partition = startPartition(5, {
    apply: async ({ arrival: { fetchedMs, nextMs, takenMs } }) => {
      arrivals.push({ fetched: fetchedMs - startMs, next: nextMs - startMs, taken: takenMs - startMs });
      await new Promise((resolve) => setTimeout(resolve, 100));
      return nothingApplied;
    },
  });
  partition.receive(received([batch(5, 5)], 6));
  while (arrivals.length === 0) await idle();
  await jest.advanceTimersByTimeAsync(40);
  partition.receive(received([batch(6, 6)], 7));
  await jest.advanceTimersByTimeAsync(20);
  partition.receive(received([batch(7, 7)], 8));
  await jest.advanceTimersByTimeAsync(40);
  while (arrivals.length === 1) await idle();
  jest.useRealTimers();
  expect(arrivals).toEqual([
    { fetched: 0, next: 0, taken: 0 },
    { fetched: 40, next: 100, taken: 100 },
  ]);
});
