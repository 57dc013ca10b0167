import { Counter, Registry } from 'prom-client';
import type { Context } from '../http/context.ts';
import { Overloaded, StoreUnavailable } from '../store/store-errors.ts';
import { errorHandler } from './error-handler.ts';

/** Handles an error; returns the status, `Retry-After`, and how many requests were counted under each metric. */
async function handle(thrown: Error, { hasLeft = false } = {}) {
  const headers: Record<string, string> = {};
  const registers = [new Registry()];
  const storeErrors = new Counter({ name: 'store_errors', help: '-', registers });
  const requestsRefused = new Counter({ name: 'refused', help: '-', labelNames: ['reason'], registers });
  const context = {
    res: { closed: hasLeft },
    req: { socket: {} },
    state: {} as { failure?: unknown },
    status: 200,
    set: (more: Record<string, string>) => Object.assign(headers, more),
  };
  const docs = { docsUrl: undefined, baseUrl: undefined };
  const middleware = errorHandler({ docs, storeErrors, requestsRefused });
  await middleware(context as unknown as Context, () => Promise.reject(thrown));
  const refused = (await requestsRefused.get()).values.map(({ value, labels }) => [labels.reason, value]);
  const store = (await storeErrors.get()).values.map(({ value }) => value);
  const hasFailure = context.state.failure !== undefined;
  return { status: context.status, retryAfter: headers['Retry-After'], refused, store, hasFailure };
}

it.each([
  [
    'a limit of this process is no error of the store',
    new Overloaded('memory', '-'),
    503,
    '1',
    ['memory'],
    0,
  ],
  [
    'a limit of this process is no error of the store',
    new Overloaded('requests', '-'),
    503,
    '1',
    ['requests'],
    0,
  ],
  ['the share of a caller is its own error', new Overloaded('share', '-'), 429, '1', ['share'], 0],
  ['an error of the store is no refusal', new StoreUnavailable('away'), 503, '5', [], 1],
])('%s: %s', async (_, error, status, retryAfter, reasons, storeErrors) => {
  const refused = reasons.map((reason) => [reason, 1]);
  const expected = { status, retryAfter, refused, store: [storeErrors] };
  expect(await handle(error)).toEqual({ ...expected, hasFailure: status === 503 });
});

it.each([new Overloaded('memory', 'full'), new StoreUnavailable('away')])(
  'an error for a client that has left counts nowhere: %s',
  async (error) => {
    expect(await handle(error, { hasLeft: true })).toMatchObject({ refused: [], store: [0] });
  },
);
