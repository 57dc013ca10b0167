import { ticketSorts } from '../../services/api/resources/tickets/schema.ts';
import { ticketStatuses } from '../../shared/documents/ticket.ts';
import { useOpened } from '../support/use-opened.ts';
import * as build from './builders.ts';
import { enumerated } from './every-route.ts';
import { begin } from './requests.ts';
import { errorOf, listOf, readAllPages, startApi, tokens, useApi } from './test-api.ts';

/** Many ids at few instants, so that ties are common; the ids sort differently in UTF-8 and UTF-16. */
const suffixes = ['a', 'B', 'é', '\u{1F600}', '\uFFFD', '_', '0'];
const count = 240;
const idOf = (prefix: string, index: number) => `${prefix}${suffixes[index % suffixes.length]}${index}`;
const instantOf = (step: number) => new Date(Date.UTC(2026, 0, 1) + step * 700).toISOString();

const tickets = Array.from({ length: count }, (_, index) =>
  build.ticket({
    id: idOf('ti_', index),
    status: ticketStatuses[(index * 7) % 5],
    createdAt: instantOf(index % 20),
    updatedAt: instantOf((index % 20) + ((index * 11) % 30)),
  }),
);
const messages = Array.from({ length: count }, (_, index) =>
  build.message({ id: idOf('msg_', index), createdAt: instantOf(index % 13) }),
);
const qas = Array.from({ length: count }, (_, index) =>
  build.qa({ id: idOf('qa', index), createdAt: instantOf(index % 13) }),
);
const channels = Array.from({ length: count }, (_, index) =>
  build.channel({
    id: idOf('chan_', index),
    type: index % 3 ? 'form' : 'chatbot',
    createdAt: instantOf(index % 13),
  }),
);

type Keyed = { _id: string; byCreated?: string; byUpdated?: string };

/** The ids in the byte order of a sort key. */
const inOrder = (documents: Keyed[], field: 'byCreated' | 'byUpdated' = 'byCreated') =>
  documents
    .toSorted((a, b) => Buffer.compare(Buffer.from(a[field] ?? ''), Buffer.from(b[field] ?? '')))
    .map(({ _id }) => _id);

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

  test.each([1, 7, 20, 100])(
    'returns each ticket once in pages of %d, with ties in the order of ids',
    async (limit) => {
      const open = tickets.filter(({ state }) => state.status === 'open');
      // Pages of one item take long, so they read only the open tickets.
      const filter = limit === 1 ? '&status=open' : '';
      const ids = await readAllPages(api.get, `/v1/tickets?sort=${sort}${filter}`, limit);
      expect(ids).toEqual(ordered(limit === 1 ? open : tickets));
    },
  );

  test.each(['createdAt', 'updatedAt'] as const)(
    'returns only the tickets between two instants of %s',
    async (date) => {
      const from = '2026-01-01T00:00:03Z';
      const to = '2026-01-01T00:00:09Z';
      const chosen = tickets.filter(
        ({ state }) => state[date] >= new Date(from) && state[date] < new Date('2026-01-01T00:00:10Z'),
      );
      expect(chosen.length).toBeGreaterThan(10);
      const path = `/v1/tickets?sort=${sort}&${date}[gte]=${from}&${date}[lte]=${to}`;
      expect(await readAllPages(api.get, path, 7)).toEqual(ordered(chosen));
      const open = chosen.filter(({ state }) => state.status !== 'closed');
      const statuses = ticketStatuses.flatMap((status) => (status === 'closed' ? [] : [`&status=${status}`]));
      expect(await readAllPages(api.get, path + statuses.join(''), 7)).toEqual(ordered(open));
    },
  );

  describe('with a bound on the other date', () => {
    const scanEntriesMax = 100;
    const scanning = useOpened(() => startApi(api.store, { bounds: { scanEntriesMax } }));
    const [date, by, steps] = sort.endsWith('createdAt')
      ? (['updatedAt', 'gte', [99, 44, 4]] as const)
      : (['createdAt', 'lte', [-99, 1, 15]] as const);

    const threeStatuses = ticketStatuses.slice(0, 3);
    test.each(
      [ticketStatuses, threeStatuses].flatMap((statuses) =>
        steps.map((step) => ({
          statuses,
          bound: instantOf(step),
          ranges: statuses === threeStatuses ? 3 : 1,
        })),
      ),
    )('returns each ticket once although a page scans few entries: $bound, $statuses', async (search) => {
      const { statuses, bound, ranges } = search;
      const limit = new Date(bound);
      const inRanges = tickets.filter(({ state }) => statuses.includes(state.status));
      const chosen = inRanges.filter(({ state }) =>
        by === 'gte' ? state[date] >= limit : state[date] <= limit,
      );
      const filter = [`${date}[${by}]=${bound}`, ...statuses.map((status) => `status=${status}`)].join('&');
      const ids: string[] = [];
      let pages = 0;
      let cursor: string | null = '';
      while (cursor !== null) {
        const after: string = cursor && `&startingAfter=${cursor}`;
        const path = `/v1/tickets?sort=${sort}&limit=100&${filter}${after}`;
        const { data, nextCursor } = listOf(await scanning.get(path));
        ids.push(...data.map(({ id }) => id));
        cursor = nextCursor;
        pages += 1;
      }
      expect(ids).toEqual(ordered(chosen));
      // A page scans its ranges twice, and each time the seek at the start of each examines an entry, too.
      if (chosen.length < 100) expect(pages).toBe(Math.ceil(inRanges.length / (scanEntriesMax / 2 - ranges)));
    });
  });
});

test('a list queries the store once if its scan has no limit', async () => {
  for (const path of [
    '/v1/tickets',
    '/v1/tickets?status=open',
    `/v1/tickets?updatedAt[gte]=${instantOf(9)}`,
  ]) {
    api.commands.splice(0);
    await api.get(path);
    const queries = api.commands.filter(({ command }) => command.find === 'tickets');
    expect({ path, queries: queries.length }).toEqual({ path, queries: 1 });
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
    for (const [path, token] of [
      ['/v1/tickets', tokens.a],
      ['/v1/tickets?status=open&sort=createdAt', tokens.a],
      ['/v1/tickets?status=open&status=closed', tokens.a],
      ['/v1/tickets?status=open&createdAt[gte]=2026-01-01', tokens.a],
      ['/v1/tickets?status=open', tokens.b],
      ['/v1/channels', tokens.a],
      ['/v1/knowledge/qa', tokens.a],
      ['/v1/conversations/conv_1/messages', tokens.a],
    ] as const) {
      const answer = await use(path, cursor, token);
      expect({ path, status: answer.status, code: errorOf(answer).code }).toEqual({
        path,
        status: 422,
        code: 'invalid_cursor',
      });
    }
  });

  test.each(enumerated)(
    'of all items of $url is refused with one value of $name',
    async ({ url, name, values }) => {
      const cursor = await cursorOf(`${url}?limit=2`);
      const accepted: string[] = [];
      for (const value of values) {
        if ((await use(`${url}?${name}=${value}`, cursor)).status !== 422) accepted.push(value);
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

test('the Link header of each page leads to the next page with the same filters', async () => {
  const ids: string[] = [];
  const filters = 'sort=createdAt&status=open&status=closed&createdAt%5Bgte%5D=2026-01-01';
  let url: string | null = `/v1/tickets?limit=30&${filters}`;
  while (url !== null) {
    const answer = await api.get(url);
    const { data, nextCursor } = listOf(answer);
    ids.push(...data.map(({ id }) => id));
    const [, next = null] = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '') ?? [];
    expect(next && new URL(next, api.url).searchParams.get('startingAfter')).toBe(nextCursor);
    url = next;
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
