import { createClientWith } from './client.ts';
import { EndlessListError } from './errors.ts';
import { exportChanges } from './export-changes.ts';
import type { Client, TicketItem } from './generated/client.ts';
import type { Page } from './types.ts';

/** A page as the server sends it: the number of its item, and the cursor of the next page. */
type Sent = { item: number; cursor: string | null; updatedAt?: string };

const dataAsOf = '2026-03-01T00:00:00.000Z';
const requestedCursors: (string | null)[] = [];
beforeEach(() => void requestedCursors.splice(0));

/** A client of a server that answers each request for a page with `pageAfter` of its cursor. */
function clientOf(pageAfter: (cursor: string | null) => Sent | Response) {
  const fetch = async (url: string | URL | Request) => {
    const cursor = new URL(url as string).searchParams.get('startingAfter');
    requestedCursors.push(cursor);
    if (requestedCursors.length > 1_000) throw new Error('the walk does not end');
    const page = pageAfter(cursor);
    if (page instanceof Response) return page;
    const { item, cursor: nextCursor, updatedAt = '2026-01-01T00:00:00Z' } = page;
    const data = [{ id: `ti_${item}`, createdAt: '2026-01-01T00:00:00Z', updatedAt, conversations: [] }];
    const body = { object: 'list', data, hasMore: nextCursor !== null, nextCursor, url: '/v1/tickets' };
    return Response.json(body, {
      headers: { 'Request-Id': `req_${requestedCursors.length}`, 'Data-As-Of': dataAsOf },
    });
  };
  const clock = { sleep: async () => undefined, random: () => 0, nowMs: () => 0 };
  return createClientWith(clock, {
    baseUrl: 'https://localhost',
    apiKey: 'svc_live_aaaaaaaaaaaaaaaa',
    fetch,
  });
}

/** The error that ends the iteration; null if it ends without one. */
const failureOf = (items: AsyncIterable<unknown>): Promise<unknown> =>
  Array.fromAsync(items).then(
    () => null,
    (error: unknown) => error,
  );

/** Maps the number of a request to its page: first `leadIn` pages, then a cycle of `cycleLength` pages. */
const pagesOf = (leadIn: number, cycleLength: number) => (request: number) =>
  request < leadIn ? request : leadIn + ((request - leadIn) % cycleLength);
const cycles = [0, 1, 2, 5, 40].flatMap((leadIn) =>
  [1, 2, 3, 7, 64].map((cycleLength) => ({ leadIn, cycleLength })),
);

test('an error with the cursor and a fix ends a walk whose page is repeated immediately', async () => {
  // Like a cache that ignores the query: every request returns the first page.
  const client = clientOf(() => ({ item: 1, cursor: 'c1' }));
  const error = await failureOf(client.tickets.list());
  expect(error).toBeInstanceOf(EndlessListError);
  expect(error).toMatchObject({
    name: 'EndlessListError',
    path: '/v1/tickets',
    cursor: 'c1',
    requestId: 'req_2',
    message:
      '/v1/tickets does not end: the page after the cursor "c1" (response req_2) repeats an earlier one. ' +
      'Check that no cache or proxy before the API ignores the query, then read the list again from its start, and ' +
      'replace items by their id. If this comes again, report the request id.',
  });
  expect(requestedCursors).toEqual([null, 'c1']);
});

test.each(cycles)('a walk ends when cursors are repeated: %j', async ({ leadIn, cycleLength }) => {
  const pageOf = pagesOf(leadIn, cycleLength);
  const client = clientOf((cursor) => {
    const page = cursor === null ? 0 : pageOf(Number(cursor));
    // Each item differs, so that the cursors alone repeat.
    return { item: requestedCursors.length, cursor: String(page + 1) };
  });
  expect(await failureOf(client.tickets.list())).toBeInstanceOf(EndlessListError);
  expect(requestedCursors.length).toBeLessThanOrEqual(3 * (leadIn + cycleLength) + 2);
});

test.each(cycles)(
  'a walk ends when its items come again under new cursors: %j',
  async ({ leadIn, cycleLength }) => {
    const pageOf = pagesOf(leadIn, cycleLength);
    const client = clientOf(() => ({
      item: pageOf(requestedCursors.length - 1),
      cursor: `c${requestedCursors.length}`,
    }));
    expect(await failureOf(client.tickets.list())).toBeInstanceOf(EndlessListError);
    expect(requestedCursors.length).toBeLessThanOrEqual(3 * (leadIn + cycleLength) + 2);
  },
);

async function* walkByNextPage(client: Client) {
  let page: Page<TicketItem> | null = await client.tickets.list();
  while (page) {
    yield page;
    page = await page.nextPage();
  }
}

test.each<[string, (client: Client) => AsyncIterable<unknown>]>([
  ['nextPage', walkByNextPage],
  ['pages', (client) => client.tickets.list().pages()],
  ['exportChanges', (client) => exportChanges({ client })],
])('%s ends an endless walk', async (_, walk) => {
  const client = clientOf(() => ({ item: 1, cursor: 'c1' }));
  expect(await failureOf(walk(client))).toMatchObject({ name: 'EndlessListError', cursor: 'c1' });
});

test('an item that changes twice within a second is not a repetition', async () => {
  const pages = ['a', 'b', 'c', 'd', null];
  const client = clientOf(() => ({
    item: 1,
    cursor: pages[requestedCursors.length - 1] ?? null,
    updatedAt: dataAsOf,
  }));
  expect(await Array.fromAsync(client.tickets.list({ sort: 'updatedAt' }))).toHaveLength(5);
});

test('a page that is requested twice is not a repetition', async () => {
  const client = clientOf((cursor) => ({ item: cursor ? 2 : 1, cursor: cursor ? null : 'c1' }));
  const first = await client.tickets.list();
  expect(await first.nextPage()).toMatchObject({ nextCursor: null });
  expect(await first.nextPage()).toMatchObject({ nextCursor: null });
});

test('an export whose cursors are all refused ends with the refusal', async () => {
  const error = { code: 'invalid_cursor', message: 'm', type: 't', docUrl: 'd', requestId: 'r' };
  const client = clientOf((cursor) =>
    cursor === null ? { item: 1, cursor: 'c1' } : Response.json({ error }, { status: 422 }),
  );
  expect(await failureOf(exportChanges({ client }))).toMatchObject({
    name: 'ApiError',
    code: 'invalid_cursor',
  });
  expect(requestedCursors).toEqual([null, 'c1', null, 'c1']);
});
