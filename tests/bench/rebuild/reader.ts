import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Target } from '../load.ts';

const requestsPerSecond = 50;
const connections = 8;

/**
 * Requests the paths at a fixed rate while `work` runs, whether or not earlier requests are answered, so that a slow
 * answer delays no measurement. The time of each counts from when it was due, in milliseconds.
 */
export async function readDuring<T>(
  target: Target,
  work: () => Promise<T>,
): Promise<{ result: T; latenciesMs: number[] }> {
  const client = createClient(target, connections);
  const latenciesMs: number[] = [];
  const requests: Promise<void>[] = [];
  const startMs = performance.now();
  let isOver = false;
  const request = async (turn: number) => {
    const dueMs = startMs + (turn / requestsPerSecond) * 1_000;
    await client.get(target.paths[turn % target.paths.length] ?? '/', turn % connections);
    latenciesMs.push(performance.now() - dueMs);
  };
  const reading = async () => {
    while (!isOver) {
      const due = Math.floor(((performance.now() - startMs) / 1_000) * requestsPerSecond);
      while (requests.length <= due) requests.push(request(requests.length));
      await sleep(5);
    }
  };
  try {
    const working = work().finally(() => {
      isOver = true;
    });
    const [result] = await Promise.all([working, reading()]);
    await Promise.all(requests);
    return { result, latenciesMs };
  } finally {
    isOver = true;
    await Promise.allSettled(requests);
    client.close();
  }
}
