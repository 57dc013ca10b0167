import { ticketSorts } from '../../services/api/resources/tickets/schema.ts';
import { ticketStatuses } from '../../shared/documents/ticket.ts';
import { useOpened } from '../support/use-opened.ts';
import * as build from './builders.ts';
import { enumerated } from './every-route.ts';
import { begin } from './requests.ts';
import { type Answer, errorOf, listOf, readAllPages, startApi, tokens, useApi } from './test-api.ts';

/** Many ids at few instants, so that ties are common; the ids sort differently in UTF-8 and UTF-16. */
const suffixes = ['a', 'B', 'é', '\u{1F600}', '\uFFFD', '_', '0'];
const count = 240;
const idOf = (prefix: string, index: number) => `${prefix}${suffixes[index % suffixes.length]}${index}`;
const instantOf = (step: number) => new Date(Date.UTC(2026, 0, 1) + step * 700).toISOString();

const indexes = Array.from({ length: count }, (_, index) => index);
const tickets = indexes.map((index) => {
  const createdStep = index % 20;
  const updatedStep = createdStep + ((index * 11) % 30);
  return build.ticket({
    id: idOf('ti_', index),
    status: ticketStatuses[(index * 7) % ticketStatuses.length],
    createdAt: instantOf(createdStep),
    updatedAt: instantOf(updatedStep),
  });
});
const createdAt = (index: number) => instantOf(index % 13);
const messages = indexes.map((index) =>
  build.message({ id: idOf('msg_', index), createdAt: createdAt(index) }),
);
const qas = indexes.map((index) => build.qa({ id: idOf('qa', index), createdAt: createdAt(index) }));
const channels = indexes.map((index) => {
  const type = index % 3 === 0 ? 'chatbot' : 'form';
  return build.channel({ id: idOf('chan_', index), type, createdAt: createdAt(index) });
});

type Dates = { createdAt: Date; updatedAt: Date };
type Keyed = { _id: string; byCreated?: string; byUpdated?: string };

/** The ids in the byte order of a sort key. */
function inOrder(documents: Keyed[], field: 'byCreated' | 'byUpdated' = 'byCreated'): string[] {
  const bytesOf = (document: Keyed) => Buffer.from(document[field] ?? '');
  const sorted = documents.toSorted((a, b) => Buffer.compare(bytesOf(a), bytesOf(b)));
  return sorted.map(({ _id }) => _id);
}

const otherOrganization = { orgId: 'org_b' };
/** An id with the characters that separate the links of a `Link` header. */
const bracketed = 'conv_<>";rel="next"';
const api = useApi({
  ticket: [...tickets, build.ticket({ id: 'ti_foreign' }, otherOrganization)],
  conversation: ['conv_1', 'conv_2', bracketed].map((id) => build.conversation({ id })),
  message: [
    ...messages,
    ...['msg_x', 'msg_y'].map((id) => build.message({ id, conversationId: bracketed })),
    build.message({ id: 'msg_foreign' }, otherOrganization),
  ],
  qa: [...qas, build.qa({ id: 'qa_foreign' }, otherOrganization)],
  channel: [...channels, build.channel({ id: 'chan_f' }, otherOrganization)],
});

describe.each(ticketSorts)('reading tickets by %s', (sort) => {
  const field = sort.includes('created') ? 'byCreated' : 'byUpdated';
  const ordered = (chosen: Keyed[]) => {
    const ids = inOrder(chosen, field);
    return sort.startsWith('-') ? ids.reverse() : ids;
  };

  // Pages of one item take long, so they read only the open tickets.
  const open = tickets.filter(({ state }) => state.status === 'open');
  test.each([
    { limit: 1, filter: '&status=open', chosen: open },
    { limit: 7, filter: '', chosen: tickets },
    { limit: 20, filter: '', chosen: tickets },
    { limit: 100, filter: '', chosen: tickets },
  ])(
    'returns each ticket once in pages of $limit, with ties in the order of ids',
    async ({ limit, filter, chosen }) => {
      const ids = await readAllPages(api.get, `/v1/tickets?sort=${sort}${filter}`, limit);
      expect(ids).toEqual(ordered(chosen));
    },
  );

  test.each(['createdAt', 'updatedAt'] as const)(
    'returns only the tickets between two instants of %s',
    async (date) => {
      const from = '2026-01-01T00:00:03Z';
      // This bound includes all instants of its second.
      const to = '2026-01-01T00:00:09Z';
      const end = '2026-01-01T00:00:10Z';
      const chosen = tickets.filter(({ state }) => {
        const instant = state[date];
        return instant >= new Date(from) && instant < new Date(end);
      });
      expect(chosen.length).toBeGreaterThan(10);
      const path = `/v1/tickets?sort=${sort}&${date}[gte]=${from}&${date}[lte]=${to}`;
      expect(await readAllPages(api.get, path, 7)).toEqual(ordered(chosen));
      const unclosed = chosen.filter(({ state }) => state.status !== 'closed');
      const statuses = ticketStatuses.filter((status) => status !== 'closed');
      const filter = statuses.map((status) => `&status=${status}`).join('');
      expect(await readAllPages(api.get, path + filter, 7)).toEqual(ordered(unclosed));
    },
  );

  describe('with a bound on the other date', () => {
    const scanEntriesMax = 100;
    const scanning = useOpened(() => startApi(api.store, { bounds: { scanEntriesMax } }));
    /** Bounds that no tickets, few tickets and many tickets match. */
    const bounds = sort.endsWith('createdAt')
      ? [99, 44, 4].map((step) => ({
          bound: `updatedAt[gte]=${instantOf(step)}`,
          isWithin: (dates: Dates) => dates.updatedAt >= new Date(instantOf(step)),
        }))
      : [-99, 1, 15].map((step) => ({
          bound: `createdAt[lte]=${instantOf(step)}`,
          isWithin: (dates: Dates) => dates.createdAt <= new Date(instantOf(step)),
        }));

    /** Reads all pages of a list, which may have fewer items than their limit. */
    const readShortPages = async (path: string) => {
      const ids: string[] = [];
      let pages = 0;
      let cursor: string | null = null;
      do {
        const after = cursor === null ? '' : `&startingAfter=${cursor}`;
        const answer: Answer = await scanning.get(`${path}${after}`);
        const list = listOf(answer);
        ids.push(...list.data.map(({ id }) => id));
        cursor = list.nextCursor;
        pages += 1;
      } while (cursor !== null);
      return { ids, pages };
    };

    describe.each([
      { statuses: ticketStatuses, ranges: 1 },
      { statuses: ticketStatuses.slice(0, 3), ranges: 3 },
    ])('and the statuses $statuses', ({ statuses, ranges }) => {
      const inRanges = tickets.filter(({ state }) => statuses.includes(state.status));
      const filter = statuses.map((status) => `status=${status}`).join('&');

      test.each(bounds)(
        'returns each ticket once although a page scans few entries: $bound',
        async ({ bound, isWithin }) => {
          const chosen = inRanges.filter(({ state }) => isWithin(state));
          const { ids } = await readShortPages(`/v1/tickets?sort=${sort}&limit=100&${bound}&${filter}`);
          expect(ids).toEqual(ordered(chosen));
        },
      );

      // The items that match the other bound would end a page before its scan ends.
      test.each(bounds.slice(0, 2))('scans in a page as much as it may: $bound', async ({ bound }) => {
        const { ids, pages } = await readShortPages(`/v1/tickets?sort=${sort}&limit=100&${bound}&${filter}`);
        expect(ids.length).toBeLessThan(100);
        // A page scans its ranges twice, and each time the seek at the start of each examines an entry, too.
        expect(pages).toBe(Math.ceil(inRanges.length / (scanEntriesMax / 2 - ranges)));
      });
    });
  });
});

test('a list queries the store once if its scan has no limit', async () => {
  for (const query of ['', '?status=open', `?updatedAt[gte]=${instantOf(9)}`]) {
    api.commands.splice(0);
    await api.get(`/v1/tickets${query}`);
    const queries = api.commands.filter(({ command }) => command.find === 'tickets');
    expect({ query, queries: queries.length }).toEqual({ query, queries: 1 });
  }
});

describe('a list without a choice of order', () => {
  test.each([
    ['/v1/conversations/conv_1/messages', messages],
    ['/v1/knowledge/qa', qas],
    ['/v1/channels', channels],
    ['/v1/channels?type=chatbot', channels.filter(({ state }) => state.type === 'chatbot')],
  ])('of %s has each item once in the order of creation', async (path, documents) => {
    expect(await readAllPages(api.get, path, 7)).toEqual(inOrder(documents));
  });

  test('of messages has the order of the messages in their conversation', async () => {
    const answer = await api.get('/v1/conversations/conv_1');
    const body = answer.json() as { messages: { id: string }[] };
    expect(body.messages.map(({ id }) => id)).toEqual(inOrder(messages));
  });

  test('has no cursor if it is empty', async () => {
    const answer = await api.get('/v1/conversations/conv_2/messages');
    expect(answer.json()).toEqual({
      object: 'list',
      data: [],
      hasMore: false,
      nextCursor: null,
      url: '/v1/conversations/conv_2/messages',
    });
  });
});

describe('a cursor', () => {
  const cursorOf = async (path: string, token = tokens.a) =>
    listOf(await api.get(path, { token })).nextCursor ?? '';
  const use = (path: string, cursor: string, token = tokens.a) =>
    api.get(`${path}${path.includes('?') ? '&' : '?'}startingAfter=${cursor}`, { token });

  test('is refused with another sort, filter, list or organization', async () => {
    const cursor = await cursorOf('/v1/tickets?limit=2&status=open');
    expect((await use('/v1/tickets?status=open', cursor)).status).toBe(200);
    const expectRefused = (answer: Answer, path: string) => {
      const seen = { path, status: answer.status, code: errorOf(answer).code };
      expect(seen).toEqual({ path, status: 422, code: 'invalid_cursor' });
    };
    for (const path of [
      '/v1/tickets',
      '/v1/tickets?status=open&sort=createdAt',
      '/v1/tickets?status=open&status=closed',
      '/v1/tickets?status=open&createdAt[gte]=2026-01-01',
      '/v1/channels',
      '/v1/knowledge/qa',
      '/v1/conversations/conv_1/messages',
    ])
      expectRefused(await use(path, cursor), path);
    expectRefused(await use('/v1/tickets?status=open', cursor, tokens.b), 'of another organization');
  });

  test.each(enumerated)(
    'of all items of $url is refused with one value of $name',
    async ({ url, name, values }) => {
      const cursor = await cursorOf(`${url}?limit=2`);
      const accepted: string[] = [];
      for (const value of values) {
        const { status } = await use(`${url}?${name}=${value}`, cursor);
        if (status !== 422) accepted.push(value);
      }
      // The list has one order without a parameter.
      expect(accepted).toEqual(name === 'sort' ? [expect.any(String)] : []);
    },
  );

  test('is refused in another thread', async () => {
    const cursor = await cursorOf('/v1/conversations/conv_1/messages?limit=2');
    expect(errorOf(await use('/v1/conversations/conv_2/messages', cursor)).code).toBe('invalid_cursor');
  });

  test('is accepted with another page size and another order of statuses', async () => {
    const cursor = await cursorOf('/v1/tickets?limit=2&status=open&status=closed');
    expect((await use('/v1/tickets?limit=3&status=closed&status=open&status=open', cursor)).status).toBe(200);
  });
});

/** The URL in the `Link` header of a page; null on the last page. */
function nextUrlIn({ headers }: Answer): string | null {
  const link = headers.get('link');
  if (link === null) return null;
  const [, url] = /^<(.*)>; rel="next"$/.exec(link) ?? [];
  if (url === undefined) throw new Error(`unexpected Link header: ${link}`);
  return url;
}

test('the Link header of each page leads to the next page with the same filters', async () => {
  const ids: string[] = [];
  const filters = 'sort=createdAt&status=open&status=closed&createdAt%5Bgte%5D=2026-01-01';
  let url: string | null = `/v1/tickets?limit=30&${filters}`;
  while (url !== null) {
    const answer: Answer = await api.get(url);
    const { data, nextCursor } = listOf(answer);
    ids.push(...data.map(({ id }) => id));
    url = nextUrlIn(answer);
    const linkedCursor = url === null ? null : new URL(url, api.url).searchParams.get('startingAfter');
    expect(linkedCursor).toBe(nextCursor);
  }
  const expected = tickets.filter(({ state }) => ['open', 'closed'].includes(state.status));
  expect(ids).toEqual(inOrder(expected));
});

test('the Link header is one link although the path has special characters of the header', async () => {
  const path = `/v1/conversations/${bracketed}/messages?limit=1`;
  const answer = await begin({ port: Number(new URL(api.url).port), isTls: false }, path);
  answer.resume();
  expect(answer.statusCode).toBe(200);
  expect(answer.headers.link).toMatch(
    /^<\/v1\/conversations\/conv_%3C%3E%22;rel=%22next%22\/messages\?limit=1&startingAfter=\w+>; rel="next"$/,
  );
});
