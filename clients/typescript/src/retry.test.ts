import { getEventListeners } from 'node:events';
import { createClient } from './client.ts';
import { ApiError, ConnectionError } from './errors.ts';
import { createRetries } from './retry.ts';
import type { ErrorCode } from './types.ts';

const error = (status: number, code: ErrorCode | null, retryAfterMs: number | null = null) =>
  new ApiError({ status, code, message: '', requestId: null, retryAfterMs });

/** Runs a request that fails with these errors, one after another; returns the time that it took. */
async function run(errors: Error[], policy = {}): Promise<number> {
  let nowMs = 0;
  const sleep = async (delayMs: number) => {
    nowMs += delayMs;
  };
  const retry = createRetries({ sleep, random: () => 0, nowMs: () => nowMs });
  await retry({ retries: 2, retryForMs: 60_000, signal: undefined, ...policy }, async () => {
    const failure = errors.shift();
    if (failure) throw failure;
  });
  return nowMs;
}

test('waits for the rate limit count neither as failed attempts nor towards the time limit', async () => {
  const limited = Array.from({ length: 4 }, () => error(429, 'too_many_requests', 50_000));
  expect(await run([...limited, error(502, null)])).toBeGreaterThanOrEqual(200_000);
});

test.each([{ retries: 0 }, { retryForMs: 59_000 }])(
  'the client throws for the rate limit with %j',
  async (policy) => {
    const limited = error(429, 'too_many_requests', 60_000);
    await expect(run([limited], policy)).rejects.toBe(limited);
  },
);

test('the client retries a 503 of the API only if the response has Retry-After', async () => {
  const last = error(503, 'service_unavailable');
  await expect(run([error(503, 'service_unavailable', 2_000)])).resolves.toBe(2_000);
  await expect(run([last])).rejects.toBe(last);
});

test('the client retries a request after an internal error of the API or a broken connection', async () => {
  const broken = new ConnectionError('https://api.example.com', new TypeError('fetch failed'));
  await expect(run([error(500, 'internal_error'), broken])).resolves.toBe(0);
});

test.each([429, 408, 500, 502, 503])(
  'the client retries a %i of a proxy up to its limit of retries',
  async (status) => {
    await expect(run([error(status, null), error(status, null)])).resolves.toBeLessThan(60_000);
    const threeErrors = Array.from({ length: 3 }, () => error(status, null));
    await expect(run(threeErrors)).rejects.toMatchObject({ status });
  },
);

test('the client does not retry a refused request', async () => {
  await expect(run([error(404, null)])).rejects.toMatchObject({ status: 404 });
});

test('the client retries a refused connection only after the API has answered once', async () => {
  const refused = () => new ConnectionError('http://127.0.0.1:1', { code: 'ECONNREFUSED' });
  await expect(run([error(502, null), refused()])).rejects.toThrow('check baseUrl');
  await expect(run([error(429, 'too_many_requests', 1_000), refused()])).resolves.toBe(1_000);
});

test('a wall clock that is set back during a wait does not make the wait longer', async () => {
  jest.useFakeTimers();
  const answer = (status: number, code: string) => {
    const body = { error: { type: 'invalid_request_error', code, message: '', requestId: '', docUrl: '' } };
    return new Response(JSON.stringify(body), { status, headers: { 'Retry-After': '1' } });
  };
  const answers = [answer(429, 'too_many_requests'), answer(404, 'ticket_not_found')];
  const fetch = async () => answers.shift() as Response;
  const client = createClient({ baseUrl: 'https://localhost', apiKey: 'svc_live_aaaaaaaaaaaaaaaa', fetch });
  const ended: unknown[] = [];
  const { signal } = new AbortController();
  client.tickets.list({}, { signal }).catch((failure: unknown) => ended.push(failure));
  await jest.advanceTimersByTimeAsync(100);
  jest.setSystemTime(Date.now() - 3_600_000);
  await jest.advanceTimersByTimeAsync(10_000);
  // A leftover timer would keep the caller's process alive.
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
  // A signal can outlive thousands of requests.
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(ended).toMatchObject([{ status: 404 }]);
});
