import type { Document } from 'mongodb';
import { defaultBounds } from '../../services/api/bounds.ts';
import { rangeUpTo } from '../../services/api/paging/key-range.ts';
import { findPage, findScanEnd, type PageQuery } from '../../services/api/paging/page-query.ts';
import { channelPageQuery } from '../../services/api/resources/channels/routes.ts';
import { threadQuery } from '../../services/api/resources/messages.ts';
import { qaPageQuery } from '../../services/api/resources/qas.ts';
import { remainingQuery } from '../../services/api/resources/tickets/conversations.ts';
import { ticketFilters, ticketPageQuery } from '../../services/api/resources/tickets/query.ts';
import {
  type TicketListQuery,
  ticketListQuery,
  ticketSorts,
} from '../../services/api/resources/tickets/schema.ts';
import { findThreads } from '../../services/api/store/find-threads.ts';
import { createdCursor } from '../../services/projector/retention/mongo-sweep-store.ts';
import { resources } from '../../shared/documents/resources.ts';
import { ticketStatuses } from '../../shared/documents/ticket.ts';
import { useOpened } from '../support/use-opened.ts';
import { type Plan, planOf } from './explain-plan.ts';
import { startStore } from './test-api.ts';

const size = 100_000;
const limit = 20;
const stepMs = 1_000;
const epochMs = Date.UTC(2026, 0, 1);

/** The sort key of the document at this fraction of the list. */
const keyAt = (share: number) => keyOf(Math.floor(share * (size - 1)));
const keyOf = (index: number) => `${new Date(epochMs + index * stepMs).toISOString()}${idOf(index)}`;
const idOf = (index: number) => `id_${String(index).padStart(6, '0')}`;

const positions = [
  { position: 'the start', after: null },
  { position: 'the middle', after: keyAt(0.5) },
  { position: 'the end', after: keyAt(1) },
];

const thread = { orgId: 'org_a', conversationId: 'conv_1', from: null };

/** The indexes of lists that a query of this file has used, each after its kind. */
const explained = new Set<string>();

const store = useOpened(() => startStore());

const types = ['chatbot', 'email', 'form'];

/** A document with the fields of every kind by which a list filters or sorts. */
function documentAt(index: number) {
  const state = {
    status: ticketStatuses[index % ticketStatuses.length],
    type: types[index % types.length],
    conversationId: 'conv_1',
    ticketId: 'ti_1',
    channelId: 'chan_1',
  };
  // Any order of updates works, as long as no update precedes the creation.
  const byUpdated = keyOf(index + ((index * 7_919) % (size - index)));
  return { _id: idOf(index), orgId: 'org_a', state, byCreated: keyOf(index), byUpdated };
}

beforeAll(async () => {
  const batchSize = 10_000;
  for (const kind of ['ticket', 'conversation', 'message', 'channel', 'qa'] as const) {
    const collection = store.database.collection<{ _id: string }>(resources[kind].collection);
    for (let start = 0; start < size; start += batchSize) {
      const batch = Array.from({ length: batchSize }, (_, offset) => documentAt(start + offset));
      await collection.insertMany(batch, { ordered: false });
    }
  }
});

const explain = async (command: Document) =>
  planOf(await store.database.command({ explain: command, verbosity: 'executionStats' }));

/** Expects one range of the hinted index for each of `ranges`, and no other stage that reads or sorts. */
async function expectRanges(command: Document, { kind, hint }: PageQuery, ranges: number) {
  explained.add(`${kind} ${hint}`);
  const plan = await explain(command);
  expect(plan.scans).toEqual(Array.from({ length: ranges }, () => hint));
  expect(plan).toMatchObject({ sorts: false, readsAll: false });
  return plan;
}

type Examined = NonNullable<Plan['examined']>;

/** Checks the numbers of examined entries and documents. The stand-in has no such numbers, so it skips the check. */
function expectExamined({ examined }: Plan, assert: (examined: Examined) => void): void {
  if (examined) assert(examined);
}

/** A page without a scan limit examines only its entries, and the seek and the end of each range. */
async function expectUnscanned(query: PageQuery, ranges: number): Promise<void> {
  const plan = await expectRanges(findPage(query), query, ranges);
  expectExamined(plan, ({ keys }) => expect(keys).toBeLessThanOrEqual(ranges * (query.limit + 2)));
}

const { scanEntriesMax } = defaultBounds;

/**
 * A page with a filter examines at most the scan limit, however few entries match: its scan end is found from the index
 * alone, and only its items are fetched.
 */
async function expectBoundedScan(query: PageQuery, ranges: number): Promise<void> {
  const endCommand = findScanEnd(query, scanEntriesMax);
  const endPlan = await expectRanges(endCommand, query, ranges);
  const { cursor } = (await store.database.command(endCommand)) as { cursor: { firstBatch: Document[] } };
  const pagePlan = await expectRanges(findPage(boundedBy(cursor.firstBatch, query)), query, ranges);
  expectExamined(endPlan, (end) => {
    expect(end.documents).toBe(0);
    expectExamined(pagePlan, (page) => {
      expect(end.keys + page.keys).toBeLessThanOrEqual(scanEntriesMax);
      expect(page.documents).toBeLessThanOrEqual(query.limit + 1);
    });
  });
}

/** The query up to the end of its scan. A scan that finds no entry after its end reaches the end of the ranges. */
function boundedBy([end, next]: Document[], query: PageQuery): PageQuery {
  if (!end || !next) return query;
  return { ...query, range: rangeUpTo(query.range, query.direction, String(end[query.field])) };
}

/** Filters of tickets, and the number of ranges that they choose. */
const searches = [
  { name: 'any status', filter: {}, ranges: 1 },
  { name: 'one status', filter: { status: ['open'] }, ranges: 1 },
  { name: 'three statuses', filter: { status: ['open', 'closed', 'snoozed'] }, ranges: 3 },
  { name: 'every status', filter: { status: [...ticketStatuses] }, ranges: 1 },
];

const ticketsAfter = (after: string | null, query: TicketListQuery) =>
  ticketPageQuery({ orgId: 'org_a', ...query, filters: ticketFilters(query), after });

describe.each(positions)('a page at $position of 100,000 documents', ({ after }) => {
  describe.each(ticketSorts)('of tickets by %s', (sort) => {
    test.each(searches)(
      'of $name reads one index range for each chosen status',
      async ({ filter, ranges }) => {
        const query = ticketListQuery.parse({ sort, ...filter });
        await expectUnscanned(ticketsAfter(after, query), ranges);
      },
    );

    test('between two dates reads one index range', async () => {
      const field = sort.replace('-', '');
      const query = ticketListQuery.parse({
        sort,
        [`${field}[gte]`]: '2026-01-01T00:00:10Z',
        [`${field}[lte]`]: '2026-01-03',
      });
      await expectUnscanned(ticketsAfter(after, query), 1);
    });

    const otherDate = sort.includes('created')
      ? {
          most: { 'updatedAt[gte]': '2026-01-01T01:00:00Z' },
          few: { 'updatedAt[gte]': '2026-01-02T03:46:39Z' },
        }
      : {
          most: { 'createdAt[gte]': '2026-01-01T01:00:00Z' },
          few: { 'createdAt[lte]': '2026-01-01T00:00:10Z' },
        };
    describe.each(['most', 'few'] as const)('%s of which match the other date', (share) => {
      test.each(searches)('of $name scans a bounded number of index entries', async ({ filter, ranges }) => {
        const query = ticketListQuery.parse({ sort, ...filter, ...otherDate[share] });
        await expectBoundedScan(ticketsAfter(after, query), ranges);
      });
    });
  });

  test.each([
    { name: 'messages', query: threadQuery(thread, after) },
    {
      name: 'messages, the first half of which has expired',
      query: threadQuery({ ...thread, from: keyAt(0.5) }, after),
    },
    {
      name: 'the conversations that a ticket does not embed',
      query: remainingQuery({ orgId: 'org_a', ticketId: 'ti_1', after: after ?? keyAt(0.1) }),
    },
    { name: 'channels', query: channelPageQuery({ orgId: 'org_a', limit, after }) },
    { name: 'channels of a type', query: channelPageQuery({ orgId: 'org_a', limit, type: 'email', after }) },
    { name: 'Q&As', query: qaPageQuery({ orgId: 'org_a', limit, after }) },
  ])('of $name reads one index range', ({ query }) => expectUnscanned({ ...query, limit }, 1));
});

test('a read of the starts of several threads reads one index range for each thread', async () => {
  const wanted = ['conv_0', 'conv_1', 'conv_2'].map((conversationId) => ({ orgId: 'org_a', conversationId }));
  const plan = await explain(findThreads(wanted));
  expect(plan).toMatchObject({ scans: ['thread'], sorts: false, readsAll: false });
  expectExamined(plan, ({ keys, documents }) => {
    expect(documents).toBe(300);
    expect(keys).toBeLessThanOrEqual(300 + wanted.length);
  });
});

test('a sweep reads only the conversations that may have expired', async () => {
  const channel = { id: 'chan_1', orgId: 'org_a' };
  const expired = 100;
  const upTo = new Date(epochMs + (expired - 1) * stepMs);
  const plan = planOf(await createdCursor(store.database, channel, '', upTo).explain('executionStats'));
  explained.add('conversation channel');
  expect(plan).toMatchObject({ scans: ['channel'], sorts: false, readsAll: false });
  expectExamined(plan, (read) => expect(read).toEqual({ keys: expired, documents: expired }));
});

test('this file explains a query for every index with a sort key', () => {
  const sorted: string[] = [];
  for (const [kind, { indexes }] of Object.entries(resources)) {
    const sorting = indexes.filter(({ key }) => JSON.stringify(key).includes('"by'));
    sorted.push(...sorting.map(({ name }) => `${kind} ${name}`));
  }
  expect(sorted.filter((index) => !explained.has(index))).toEqual([]);
});
