import { setImmediate } from 'node:timers/promises';
import { createClientWith } from '../../clients/typescript/src/client.ts';
import { exportChanges } from '../../clients/typescript/src/index.ts';
import { abortable } from '../../clients/typescript/src/signal.ts';
import { createMemoryRateLimiter } from '../../services/api/rate-limit/memory-rate-limiter.ts';
import { createRandom } from '../support/random.ts';
import { failureOf } from './test-client.ts';

const hourMs = 3_600_000;
/** The default limit of the API. */
const limit = { requests: 100, windowSeconds: 60 };

/** A clock whose waits take no real time: the earliest wait ends when no other work remains. */
function createSimulatedClock() {
  const waits: { endsAtMs: number; end: () => void }[] = [];
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    sleep: (delayMs: number, signal?: AbortSignal) =>
      abortable(new Promise<void>((end) => waits.push({ endsAtMs: nowMs + delayMs, end })), signal),
    runUntil: async (untilMs: number) => {
      while (nowMs < untilMs) {
        await setImmediate();
        const next = waits.toSorted((a, b) => a.endsAtMs - b.endsAtMs)[0];
        if (!next) throw new Error('nothing is waiting');
        waits.splice(waits.indexOf(next), 1);
        nowMs = next.endsAtMs;
        next.end();
      }
    },
  };
}

/** A service with one key, whose limit is the API's own. Each ticket has one thread of one message. */
function createService(clock: ReturnType<typeof createSimulatedClock>) {
  const random = createRandom(1);
  const limiter = createMemoryRateLimiter({ limit, nowMs: clock.nowMs });
  const counts = { admitted: 0, refused: 0, notHeld: 0 };
  const page = (path: string, data: object[]) =>
    Response.json(
      {
        object: 'list',
        data,
        hasMore: true,
        nextCursor: path.includes('/messages') ? null : `after ${counts.admitted}`,
      },
      { headers: { 'Request-Id': 'req_1', 'Data-As-Of': '2026-01-02T00:00:00.000Z' } },
    );
  /** The service for one client, which is to send nothing between a 429 and the end of its Retry-After. */
  const front = (): typeof fetch => {
    let heldUntilMs = 0;
    return async (url) => {
      if (clock.nowMs() < heldUntilMs) counts.notHeld += 1;
      await clock.sleep(200 + random.int(1_800));
      const { admitted, resetMs } = limiter.consume('key');
      counts[admitted ? 'admitted' : 'refused'] += 1;
      const path = new URL(url as URL | string).pathname;
      if (admitted && path.includes('/messages')) return page(path, [{ id: 'msg_1' }]);
      const conversations = [{ id: 'conv_1', role: 'primary' }];
      const ticket = { id: `ti_${counts.admitted}`, updatedAt: '2026-01-01T00:00:00Z', conversations };
      if (admitted) return page(path, Array<object>(100).fill(ticket));
      const retryAfterSeconds = Math.ceil(resetMs / 1_000);
      heldUntilMs = clock.nowMs() + retryAfterSeconds * 1_000;
      return Response.json(
        { error: { type: 'rate_limit_error', code: 'too_many_requests', message: 'm' } },
        { status: 429, headers: { 'Retry-After': String(retryAfterSeconds) } },
      );
    };
  };
  return { front, counts };
}

test('two exporters of 8 threads use the whole limit of one key for an hour, without an error', async () => {
  const clock = createSimulatedClock();
  const { front, counts } = createService(clock);
  const controller = new AbortController();
  const threads = [0, 0];
  const exporting = threads.map(async (_, index) => {
    const deps = { sleep: clock.sleep, nowMs: clock.nowMs, random: () => 0.5 };
    const client = createClientWith(deps, {
      baseUrl: 'https://api.example.com',
      apiKey: 'svc_live_0123456789abcdef',
      fetch: front(),
      retries: 1,
    });
    const { signal } = controller;
    for await (const batch of exportChanges({ client, threads: true, concurrency: 8, signal }))
      if ('messages' in batch) threads[index] = (threads[index] ?? 0) + 1;
  });
  await Promise.race([clock.runUntil(hourMs), Promise.all(exporting)]);
  expect(counts.notHeld).toBe(0);
  expect(counts.admitted).toBeGreaterThan(5_800);
  expect(counts.refused).toBeLessThan(counts.admitted);
  expect(Math.min(...threads)).toBeGreaterThan(1_000);
  controller.abort(new Error('an hour has passed'));
  for (const each of exporting) expect(await failureOf(each)).toEqual(new Error('an hour has passed'));
});
