import { createClientWith } from './client.ts';
import { EndlessListError } from './errors.ts';
import { exportChanges } from './export-changes.ts';
import type { TicketItem } from './generated/client.ts';
import type { Page } from './types.ts';

/** A page as the server sends it: the number of its item, and the cursor of the next page. */
type Sent = { item: number; cursor: string | null; updatedAt?: string };

const dataAsOf = '2026-03-01T00:00:00.000Z';
const asked: (string | null)[] = [];
beforeEach(() => void asked.splice(0));

/** A client of a server that answers each request for a page with `pageAfter` of its cursor. */
function clientOf(pageAfter: (cursor: string | null) => Sent | Response) {
  const fetch = async (url: string | URL | Request) => {
    const cursor = new URL(url as string).searchParams.get('startingAfter');
    asked.push(cursor);
    if (asked.length > 1_000) throw new Error('the walk does not end');
    const page = pageAfter(cursor);
    if (page instanceof Response) return page;
    const { item, cursor: nextCursor, updatedAt = '2026-01-01T00:00:00Z' } = page;
    const data = [{ id: `ti_${item}`, createdAt: '2026-01-01T00:00:00Z', updatedAt, conversations: [] }];
    const body = { object: 'list', data, hasMore: nextCursor !== null, nextCursor, url: '/v1/tickets' };
    return Response.json(body, { headers: { 'Request-Id': `req_${asked.length}`, 'Data-As-Of': dataAsOf } });
  };
  const clock = { sleep: async () => undefined, random: () => 0, nowMs: () => 0 };
  return createClientWith(clock, {
    baseUrl: 'https://localhost',
    apiKey: 'svc_live_aaaaaaaaaaaaaaaa',
    fetch,
  });
}

const failureOf = (items: AsyncIterable<unknown>): Promise<unknown> =>
  Array.fromAsync(items).then(
    () => null,
    (error: unknown) => error,
  );

/** Maps the number of a request to its page: first `before` pages, then a cycle of `round` pages. */
const cycleOf = (before: number, round: number) => (number: number) =>
  number < before ? number : before + ((number - before) % round);
const cycles = [0, 1, 2, 5, 40].flatMap((before) => [1, 2, 3, 7, 64].map((round) => ({ before, round })));

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
  expect(asked).toEqual([null, 'c1']);
});

test.each(cycles)('a walk ends when cursors are repeated: %j', async ({ before, round }) => {
  const pageOf = cycleOf(before, round);
  const client = clientOf((cursor) => {
    const number = cursor === null ? 0 : pageOf(Number(cursor));
    // Each item differs, so that the cursors alone repeat.
    return { item: asked.length, cursor: String(number + 1) };
  });
  expect(await failureOf(client.tickets.list())).toBeInstanceOf(EndlessListError);
  expect(asked.length).toBeLessThanOrEqual(3 * (before + round) + 2);
});

test.each(cycles)(
  'a walk ends when its items come again under new cursors: %j',
  async ({ before, round }) => {
    const pageOf = cycleOf(before, round);
    const client = clientOf(() => ({ item: pageOf(asked.length - 1), cursor: `c${asked.length}` }));
    expect(await failureOf(client.tickets.list())).toBeInstanceOf(EndlessListError);
    expect(asked.length).toBeLessThanOrEqual(3 * (before + round) + 2);
  },
);

test.each(['nextPage', 'pages', 'exportChanges'] as const)('%s ends an endless walk', async (way) => {
  const client = clientOf(() => ({ item: 1, cursor: 'c1' }));
  async function* byHand() {
    let page: Page<TicketItem> | null = await client.tickets.list();
    while (page) {
      yield page;
      page = await page.nextPage();
    }
  }
  const ways = {
    nextPage: byHand,
    pages: () => client.tickets.list().pages(),
    exportChanges: () => exportChanges({ client }),
  };
  expect(await failureOf(ways[way]())).toMatchObject({ name: 'EndlessListError', cursor: 'c1' });
});

test('an item that changes twice within a second is not a repetition', async () => {
  const pages = ['a', 'b', 'c', 'd', null];
  const client = clientOf(() => ({ item: 1, cursor: pages[asked.length - 1] ?? null, updatedAt: dataAsOf }));
  expect(await Array.fromAsync(client.tickets.list({ sort: 'updatedAt' }))).toHaveLength(5);
});

test('a page that is requested twice is not a repetition', async () => {
  const client = clientOf((cursor) => ({ item: cursor ? 2 : 1, cursor: cursor ? null : 'c1' }));
  const first = await client.tickets.list();
  expect([await first.nextPage(), await first.nextPage()]).toMatchObject([
    { nextCursor: null },
    { nextCursor: null },
  ]);
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
  expect(asked).toEqual([null, 'c1', null, 'c1']);
});
