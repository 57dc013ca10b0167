import { setImmediate } from 'node:timers/promises';
import { createClientWith } from '../../clients/typescript/src/client.ts';
import { exportChanges } from '../../clients/typescript/src/index.ts';
import { abortable } from '../../clients/typescript/src/signal.ts';
import { createMemoryRateLimiter } from '../../services/api/rate-limit/memory-rate-limiter.ts';
import { createRandom } from '../support/random.ts';
import { rejectionOf } from './test-client.ts';

const hourMs = 3_600_000;
/** The default limit of the API. */
const limit = { requests: 100, windowSeconds: 60 };

/** Creates a clock whose waits take no real time. The earliest wait ends as soon as no other work remains. */
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
        const earliest = waits.toSorted((a, b) => a.endsAtMs - b.endsAtMs)[0];
        if (!earliest) throw new Error('nothing is waiting');
        waits.splice(waits.indexOf(earliest), 1);
        nowMs = earliest.endsAtMs;
        earliest.end();
      }
    },
  };
}

/** Creates a service with the rate limiter of the API and one key. Each ticket has one thread of one message. */
function createService(clock: ReturnType<typeof createSimulatedClock>) {
  const random = createRandom(1);
  const limiter = createMemoryRateLimiter({ limit, nowMs: clock.nowMs });
  const counts = { admitted: 0, refused: 0, sentTooEarly: 0 };
  const listOf = (data: object[], nextCursor: string | null) => {
    const headers = { 'Request-Id': 'req_1', 'Data-As-Of': '2026-01-02T00:00:00.000Z' };
    return Response.json({ object: 'list', data, hasMore: true, nextCursor }, { headers });
  };
  const pageOfTickets = () => {
    const conversations = [{ id: 'conv_1', role: 'primary' }];
    const ticket = { id: `ti_${counts.admitted}`, updatedAt: '2026-01-01T00:00:00Z', conversations };
    return listOf(Array<object>(100).fill(ticket), `after ${counts.admitted}`);
  };
  const refusal = (retryAfterSeconds: number) => {
    const error = { type: 'rate_limit_error', code: 'too_many_requests', message: 'm' };
    const headers = { 'Retry-After': String(retryAfterSeconds) };
    return Response.json({ error }, { status: 429, headers });
  };
  /** Creates a fetch for one client. The client must send nothing between a 429 and the end of its Retry-After. */
  const createFetch = (): typeof fetch => {
    let refusedUntilMs = 0;
    return async (url) => {
      if (clock.nowMs() < refusedUntilMs) counts.sentTooEarly += 1;
      await clock.sleep(200 + random.int(1_800));
      const { admitted, resetMs } = limiter.consume('key');
      if (!admitted) {
        counts.refused += 1;
        const retryAfterSeconds = Math.ceil(resetMs / 1_000);
        refusedUntilMs = clock.nowMs() + retryAfterSeconds * 1_000;
        return refusal(retryAfterSeconds);
      }
      counts.admitted += 1;
      const { pathname } = new URL(url as URL | string);
      return pathname.includes('/messages') ? listOf([{ id: 'msg_1' }], null) : pageOfTickets();
    };
  };
  return { createFetch, counts };
}

test('two exporters of 8 threads share the whole rate limit of one key for an hour without an error', async () => {
  const clock = createSimulatedClock();
  const { createFetch, counts } = createService(clock);
  const controller = new AbortController();
  const threads = [0, 0];
  const exporting = threads.map(async (_, index) => {
    const deps = { sleep: clock.sleep, nowMs: clock.nowMs, random: () => 0.5 };
    const client = createClientWith(deps, {
      baseUrl: 'https://api.example.com',
      apiKey: 'svc_live_0123456789abcdef',
      fetch: createFetch(),
      retries: 1,
    });
    const { signal } = controller;
    for await (const batch of exportChanges({ client, threads: true, concurrency: 8, signal })) {
      if ('messages' in batch) threads[index] = (threads[index] ?? 0) + 1;
    }
  });
  await Promise.race([clock.runUntil(hourMs), Promise.all(exporting)]);
  expect(counts.sentTooEarly).toBe(0);
  // The limit admits 6,000 requests an hour. Each exporter needs a fair part of them.
  expect(counts.admitted).toBeGreaterThan(5_800);
  expect(counts.refused).toBeLessThan(counts.admitted);
  expect(Math.min(...threads)).toBeGreaterThan(1_000);
  controller.abort(new Error('an hour has passed'));
  for (const exporter of exporting)
    expect(await rejectionOf(exporter)).toEqual(new Error('an hour has passed'));
});
