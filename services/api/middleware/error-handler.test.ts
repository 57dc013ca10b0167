import { OtherProjectionVersion } from '../../../shared/control/generations.ts';
import type { Context } from '../http/context.ts';
import { createMetrics } from '../metrics.ts';
import { ForeignDocument } from '../store/gather.ts';
import { Overloaded, StoreUnavailable } from '../store/store-errors.ts';
import { errorHandler } from './error-handler.ts';

/** Handles an error; returns the status, `Retry-After`, and how many requests were counted under each metric. */
async function handle(thrown: Error, { hasLeft = false } = {}) {
  const headers: Record<string, string> = {};
  const { storeErrors, requestsRefused } = createMetrics();
  const context = {
    res: { closed: hasLeft },
    req: { socket: {} },
    state: {} as { failure?: unknown },
    status: 200,
    set: (more: Record<string, string>) => Object.assign(headers, more),
  };
  const middleware = errorHandler({ baseUrl: undefined, storeErrors, requestsRefused });
  await middleware(context as unknown as Context, () => Promise.reject(thrown));
  const counts = (await requestsRefused.get()).values.filter(({ value }) => value > 0);
  const refused = counts.map(({ value, labels }) => [labels.reason, value]);
  const store = (await storeErrors.get()).values.map(({ value }) => value);
  const hasFailure = context.state.failure !== undefined;
  return { status: context.status, retryAfter: headers['Retry-After'], refused, store, hasFailure };
}

test.each([
  // A limit of this process does not count as a store error. A caller that exceeds its share causes its own error.
  {
    error: new Overloaded('memory', '-'),
    status: 503,
    retryAfter: '1',
    refused: [['memory', 1]],
    storeErrors: 0,
  },
  {
    error: new Overloaded('requests', '-'),
    status: 503,
    retryAfter: '1',
    refused: [['requests', 1]],
    storeErrors: 0,
  },
  {
    error: new Overloaded('share', '-'),
    status: 429,
    retryAfter: '1',
    refused: [['share', 1]],
    storeErrors: 0,
  },
  { error: new StoreUnavailable('away'), status: 503, retryAfter: '5', refused: [], storeErrors: 1 },
  {
    error: new OtherProjectionVersion('of another release'),
    status: 503,
    retryAfter: '5',
    refused: [],
    storeErrors: 1,
  },
  {
    error: new DOMException('no answer', 'TimeoutError'),
    status: 503,
    retryAfter: '5',
    refused: [],
    storeErrors: 1,
  },
])(
  '$error: $status, Retry-After $retryAfter, refused as $refused',
  async ({ error, status, retryAfter, refused, storeErrors }) => {
    const hasFailure = status === 503;
    expect(await handle(error)).toEqual({ status, retryAfter, refused, store: [storeErrors], hasFailure });
  },
);

test('a document of another organization is an internal error, which is logged and not repeated', async () => {
  const { status, retryAfter, hasFailure } = await handle(new ForeignDocument('of org_b for org_a'));
  expect(status).toBe(500);
  expect(retryAfter).toBeUndefined();
  expect(hasFailure).toBe(true);
});

test.each([new Overloaded('memory', 'full'), new StoreUnavailable('away')])(
  'an error for a client that has left is not counted: %s',
  async (error) => {
    expect(await handle(error, { hasLeft: true })).toMatchObject({ refused: [], store: [0] });
  },
);
