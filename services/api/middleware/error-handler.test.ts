import { Counter, Registry } from 'prom-client';
import type { Context } from '../http/context.ts';
import { Overloaded, StoreUnavailable } from '../store/store-errors.ts';
import { errorHandler } from './error-handler.ts';

/** Handles an error; returns the status, `Retry-After`, and how many requests were counted under each metric. */
async function handle(
  thrown: Error,
  { hasLeft = false, headers = {} }: { hasLeft?: boolean; headers?: Record<string, string> } = {},
) {
  const registers = [new Registry()];
  const storeErrors = new Counter({ name: 'store_errors', help: '-', registers });
  const requestsRefused = new Counter({ name: 'refused', help: '-', labelNames: ['reason'], registers });
  const context = {
    res: { closed: hasLeft },
    req: { socket: {} },
    state: {} as { failure?: unknown },
    status: 200,
    set: (more: Record<string, string>) => Object.assign(headers, more),
    remove: (name: string) => delete headers[name],
  };
  const docs = { docsUrl: undefined, baseUrl: undefined };
  const middleware = errorHandler({ docs, storeErrors, requestsRefused });
  await middleware(context as unknown as Context, () => Promise.reject(thrown));
  const refused = (await requestsRefused.get()).values.map(({ value, labels }) => [labels.reason, value]);
  const store = (await storeErrors.get()).values.map(({ value }) => value);
  const { failure } = context.state;
  return {
    status: context.status,
    retryAfter: headers['Retry-After'],
    refused,
    store,
    ...(context.status < 500 && { failure }),
  };
}

describe('a 503', () => {
  it.each(['memory', 'requests'] as const)('by the limit of %s is no error of the store', async (limit) => {
    expect(await handle(new Overloaded(limit, 'full'))).toEqual({
      status: 503,
      retryAfter: '1',
      refused: [[limit, 1]],
      store: [0],
    });
  });

  it('is a 429 if the caller itself has too many requests in progress', async () => {
    expect(await handle(new Overloaded('share', 'full'))).toEqual({
      status: 429,
      retryAfter: '1',
      refused: [['share', 1]],
      store: [0],
      failure: undefined,
    });
  });

  it('by the store is no refusal of a limit', async () => {
    expect(await handle(new StoreUnavailable('away'))).toEqual({
      status: 503,
      retryAfter: '5',
      refused: [],
      store: [1],
    });
  });

  it.each([new Overloaded('memory', 'full'), new StoreUnavailable('away')])(
    'for a client that has left counts nowhere: %s',
    async (error) => {
      expect(await handle(error, { hasLeft: true })).toMatchObject({ refused: [], store: [0] });
    },
  );
});

it('an error has no header of the content that it replaces', async () => {
  const kept = { 'Data-As-Of': '2026-01-31T12:00:00.000Z' };
  const content = { 'Content-Encoding': 'br', 'Content-Security-Policy': '-', ETag: '"1"', Link: '</>' };
  const headers: Record<string, string> = { ...kept, ...content };
  await handle(new Error('the encoder failed'), { headers });
  expect(Object.keys(headers).filter((name) => name in content)).toEqual([]);
  expect(headers).toMatchObject(kept);
});
