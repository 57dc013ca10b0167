import assert from 'node:assert';
import { inspect } from 'node:util';
import { ApiError, ConnectionError } from '../../clients/typescript/src/errors.ts';
import { version } from '../../clients/typescript/src/generated/version.ts';
import { type Client, createClient } from '../../clients/typescript/src/index.ts';
import { run } from '../../infra/dev-servers/native/run.ts';
import * as build from '../api/builders.ts';
import { oneOfEach, urls } from '../api/every-route.ts';
import { tokens, useApi } from '../api/test-api.ts';
import { exampleId } from '../support/entities.ts';
import { connect, rejectionOf } from './test-client.ts';

test('the generated files of the client match openapi.json and package.json', async () => {
  expect(await run('npm', ['run', 'client:generate', '--', '--check'])).toMatchObject({ ok: true });
});

type Answer = { data: unknown; requestId: string; dataAsOf: Date; rateLimit: object };
type Method = (id?: string) => PromiseLike<Answer>;
/** The methods for a resource, and the groups inside it, which only list. */
type Group = Record<string, Method | { list: Method }>;

/**
 * Returns a call of each method of the client. A method that needs an id gets that of the example, and a list inside a
 * group gets the id of its parent.
 */
function callsOf(client: object): (() => PromiseLike<Answer>)[] {
  const calls: (() => PromiseLike<Answer>)[] = [];
  for (const [group, methods] of Object.entries(client as Record<string, Group>)) {
    const id = exampleId(group);
    for (const [name, method] of Object.entries(methods)) {
      if (typeof method !== 'function') calls.push(() => method.list(id));
      else if (name === 'list') calls.push(() => method());
      else calls.push(() => method(id));
    }
  }
  return calls;
}

describe('the client and the API', () => {
  const ids = Array.from({ length: 250 }, (_, index) => `ti_${index + 1}`).sort();
  const api = useApi(
    {
      ...oneOfEach(),
      ticket: ids.map((id, index) => build.ticket({ id, status: index % 5 === 0 ? 'closed' : 'open' })),
      conversation: [build.conversation({ id: 'conv_1' })],
      message: [build.message({ id: 'msg_1' })],
      channel: [build.channel({ id: 'chan_1' })],
      qa: ['qa_1', 'qa_2'].map((id) => build.qa({ id })),
    },
    { settings: { RATE_LIMIT_REQUESTS: 1_000 } },
  );
  beforeAll(() => build.dataAsOf(api.store.control, new Date('2026-03-01T12:00:00.123Z')));

  const connectClient = (options: Partial<Parameters<typeof connect>[0]> = {}) =>
    connect({ baseUrl: api.url, ...options });

  test('the client has a method for each endpoint that returns the data of the API', async () => {
    const { client, requested } = connectClient();
    for (const call of callsOf(client)) {
      const answer = await call();
      const path = requested.at(-1) ?? '';
      const body = (await api.get(path)).json() as Record<string, unknown>;
      const isList = body.object === 'list';
      expect(answer.data).toEqual(isList ? body.data : body);
      expect(answer).toMatchObject(isList ? { hasMore: body.hasMore, nextCursor: body.nextCursor } : {});
      expect(answer.requestId).toMatch(/^req_/);
      expect(answer.dataAsOf).toEqual(new Date('2026-03-01T12:00:00.123Z'));
      expect(answer.rateLimit).toMatchObject({ limit: 1_000, remaining: expect.any(Number) as number });
    }
    expect(requested.toSorted()).toEqual(urls.toSorted());
  });

  test('the client sends parameters as the OpenAPI document has them', async () => {
    const { client, requested } = connectClient();
    const { data } = await client.tickets.list({
      limit: 3,
      sort: 'createdAt',
      status: ['open', 'closed'],
      updatedAt: { gte: new Date(build.at), lte: undefined },
      startingAfter: null,
    });
    expect(data.map(({ id }) => id)).toEqual(ids.slice(0, 3));
    expect(requested).toEqual([
      '/v1/tickets?limit=3&sort=createdAt&status=open&status=closed&updatedAt%5Bgte%5D=2026-01-01T12%3A00%3A00Z',
    ]);
  });

  test('a list keeps the sort and the filters of its call although the caller changes its parameters', async () => {
    const { client } = connectClient();
    const params = { limit: 100, sort: 'createdAt' as 'createdAt' | '-updatedAt', status: ['open' as const] };
    const open = client.tickets.list(params)[Symbol.asyncIterator]();
    await open.next();
    params.sort = '-updatedAt';
    params.status.pop();
    expect(await Array.fromAsync(open)).toHaveLength(199);
  });

  test('the client requests a page only when the loop reaches the page', async () => {
    const { client, requested } = connectClient();
    const pages = client.tickets.list({ limit: 100 }).pages();
    expect(requested).toHaveLength(0);
    await pages.next();
    expect(requested).toHaveLength(1);
    for await (const page of pages) {
      expect(page.data).toHaveLength(100);
      break;
    }
    expect(requested).toHaveLength(2);
  });

  test('a page iterates over its own items and those of all later pages', async () => {
    const { client, requested } = connectClient();
    const first = await client.tickets.list({ limit: 80, sort: 'createdAt', status: ['open'] });
    const second = await first.nextPage();
    const third = await second?.nextPage();
    assert(second && third);
    expect(second.data).toHaveLength(80);
    expect(third.data).toHaveLength(40);
    expect(await third.nextPage()).toBeNull();
    expect(requested).toHaveLength(3);
    for (const url of requested) expect(url).toMatch(/^\/v1\/tickets\?limit=80&sort=createdAt&status=open/);
    expect(await Array.fromAsync(second)).toEqual([...second.data, ...third.data]);
    expect(requested).toHaveLength(4);
  });

  test('the client refuses a meaningless parameter before it sends a request', async () => {
    const { client, requested } = connectClient();
    const { tickets } = client;
    const expectRefused = async (request: Promise<unknown>, message: string) =>
      expect(await rejectionOf(request)).toEqual(new TypeError(message));
    // The API would return every ticket for an empty filter.
    const emptyFilter = 'status must not be empty: omit it to leave out the filter';
    await expectRefused(tickets.list({ status: [] }), emptyFilter);
    const invalidDate = tickets.list({ updatedAt: { gte: new Date('soon') } });
    await expectRefused(invalidDate, 'updatedAt[gte] must be a valid Date');
    for (const id of ['', '.', '..'])
      await expectRefused(tickets.retrieve(id), 'id must be the id of a resource');
    for (const name of ['authorization', 'User-Agent', 'If-None-Match'])
      await expectRefused(tickets.list({}, { headers: { [name]: 'x' } }), `headers must not have ${name}`);
    expect(requested).toEqual([]);
  });

  test.each<{ name: string; call: (client: Client) => Promise<unknown>; expected: object }>([
    {
      name: 'a missing resource',
      call: ({ tickets }) => tickets.retrieve('ti_none'),
      expected: { status: 404, code: 'ticket_not_found', param: undefined },
    },
    {
      name: 'a parameter out of bounds',
      call: async ({ tickets }) => tickets.list({ limit: 101 }),
      expected: { status: 422, code: 'invalid_query_parameter', param: 'limit' },
    },
  ])('the client throws an ApiError for $name without a retry', async ({ call, expected }) => {
    const { client, requested } = connectClient();
    const error = (await rejectionOf(call(client))) as ApiError;
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ name: 'ApiError', type: expect.any(String) as string, ...expected });
    expect(error.docUrl).toMatch(new RegExp(`/docs/errors/${error.code}$`));
    expect(error.requestId).toMatch(/^req_/);
    expect(error.message).not.toBe('');
    expect(requested).toHaveLength(1);
  });

  test('a caller can add headers to a request', async () => {
    const sentHeaders: unknown[] = [];
    const { client } = connectClient({
      fetch: (url, init) => {
        sentHeaders.push(init?.headers);
        return fetch(url, init);
      },
    });
    await client.tickets.list({}, { headers: { traceparent: '00-1-1-00' } });
    expect(sentHeaders).toMatchObject([
      {
        traceparent: '00-1-1-00',
        Authorization: `Bearer ${tokens.a}`,
        'User-Agent': `support-read-models-client/${version}`,
      },
    ]);
  });

  test('an id is always one segment of the path', async () => {
    const { client, requested } = connectClient();
    const error = await rejectionOf(client.channels.retrieve('a/../b?c#d%2F'));
    expect(error).toMatchObject({ code: 'channel_not_found' });
    expect(requested).toEqual(['/v1/channels/a%2F..%2Fb%3Fc%23d%252F']);
  });

  test('a signal ends a list with the reason of the signal', async () => {
    const { client, requested } = connectClient();
    const controller = new AbortController();
    const paging = client.tickets.list({ limit: 100 }, { signal: controller.signal }).pages();
    await paging.next();
    controller.abort(new Error('enough'));
    expect(await rejectionOf(Array.fromAsync(paging))).toEqual(new Error('enough'));
    expect(requested).toHaveLength(1);
    const alreadyAborted = client.tickets.list({}, { signal: AbortSignal.abort() });
    expect(await rejectionOf(alreadyAborted)).toMatchObject({ name: 'AbortError' });
    expect(requested).toHaveLength(1);
  });

  test('no response, error or printed client contains the key', async () => {
    const secret = tokens.a;
    const { client } = connectClient();
    const errors = [
      await rejectionOf(client.tickets.retrieve('ti_none')),
      // No server listens on this port.
      await rejectionOf(connectClient({ baseUrl: 'http://127.0.0.1:2' }).client.qas.list()),
      await rejectionOf(connectClient({ timeoutMs: 1, retries: 0, fetch: neverRespond }).client.qas.list()),
    ];
    expect(errors.map((error) => (error as Error).name)).toEqual([
      'ApiError',
      'ConnectionError',
      'TimeoutError',
    ]);
    expect(errors[1]).toBeInstanceOf(ConnectionError);
    expect(errors[1]).toHaveProperty(
      'message',
      'There is no API at http://127.0.0.1:2: check baseUrl. Reason: connect ECONNREFUSED 127.0.0.1:2',
    );
    const publicClient = createClient({ baseUrl: api.url, apiKey: secret });
    for (const value of [client, publicClient, await client.tickets.list(), ...errors]) {
      expect(inspect(value, { depth: Infinity, showHidden: true })).not.toContain(secret);
      expect(JSON.stringify(value)).not.toContain(secret);
      expect(String(value)).not.toContain(secret);
    }
  });
});

/** A service that never answers. */
const neverRespond: typeof fetch = (_, init) =>
  new Promise((_resolve, reject) => {
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
  });
