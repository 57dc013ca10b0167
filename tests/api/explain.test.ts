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
const keyOf = (index: number) =>
  `${new Date(epochMs + index * stepMs).toISOString()}id_${String(index).padStart(6, '0')}`;

const positions = [
  ['the start', null],
  ['the middle', keyAt(0.5)],
  ['the end', keyAt(1)],
] as const;

const thread = { orgId: 'org_a', conversationId: 'conv_1', from: null };

/** The indexes of lists that a query of this file has used, each after its kind. */
const explained = new Set<string>();

const store = useOpened(() => startStore());

beforeAll(async () => {
  const types = ['chatbot', 'email', 'form'];
  for (const kind of ['ticket', 'conversation', 'message', 'channel', 'qa'] as const) {
    const collection = store.database.collection<{ _id: string }>(resources[kind].collection);
    const batchSize = 10_000;
    for (let start = 0; start < size; start += batchSize) {
      const batch = Array.from({ length: batchSize }, (_, offset) => {
        const index = start + offset;
        const state = {
          status: ticketStatuses[index % ticketStatuses.length],
          type: types[index % types.length],
          conversationId: 'conv_1',
          ticketId: 'ti_1',
          channelId: 'chan_1',
        };
        // Any order of updates works, as long as no update precedes the creation.
        const byUpdated = keyOf(index + ((index * 7_919) % (size - index)));
        return { _id: keyOf(index).slice(24), orgId: 'org_a', state, byCreated: keyOf(index), byUpdated };
      });
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

/** Checks the numbers of examined entries and documents. The stand-in has no such numbers, so it skips the check. */
function expectExamined(plans: Plan[], assert: (examined: NonNullable<Plan['examined']>[]) => void): void {
  const examined = plans.flatMap((plan) => plan.examined ?? []);
  if (examined.length === plans.length) assert(examined);
}

async function expectOneRange(query: PageQuery, ranges: number): Promise<void> {
  const plan = await expectRanges(findPage(query), query, ranges);
  expectExamined([plan], ([page]) => expect(page?.keys).toBeLessThanOrEqual(ranges * (query.limit + 2)));
}

const { scanEntriesMax } = defaultBounds;

/**
 * A page with a filter examines at most the scan limit, however few entries match: its scan end is found from the index
 * alone, and only its items are fetched.
 */
async function expectBoundedScan(query: PageQuery, ranges: number): Promise<void> {
  const { database } = store;
  const endPlan = await expectRanges(findScanEnd(query, scanEntriesMax), query, ranges);
  const { cursor } = (await database.command(findScanEnd(query, scanEntriesMax))) as {
    cursor: { firstBatch: Document[] };
  };
  const [last, next] = cursor.firstBatch;
  const bounded =
    last && next
      ? { ...query, range: rangeUpTo(query.range, query.direction, String(last[query.field])) }
      : query;
  const pagePlan = await expectRanges(findPage(bounded), query, ranges);
  expectExamined([endPlan, pagePlan], ([end, page]) => {
    expect((end?.keys ?? NaN) + (page?.keys ?? NaN)).toBeLessThanOrEqual(scanEntriesMax);
    expect(end?.documents).toBe(0);
    expect(page?.documents).toBeLessThanOrEqual(query.limit + 1);
  });
}

/** Filters of tickets, and the ranges that they choose. */
const searches: [string, { status?: string[] }, number][] = [
  ['any status', {}, 1],
  ['one status', { status: ['open'] }, 1],
  ['three statuses', { status: ['open', 'closed', 'snoozed'] }, 3],
  ['every status', { status: [...ticketStatuses] }, 1],
];

const ticketsAfter = (after: string | null, query: TicketListQuery) =>
  ticketPageQuery({ orgId: 'org_a', ...query, filters: ticketFilters(query), after });

describe.each(positions)('a page at %s of 100,000 documents', (_, after) => {
  describe.each(ticketSorts)('of tickets by %s', (sort) => {
    test.each(searches)(
      'of %s reads one index range for each chosen status',
      async (_title, status, ranges) => {
        const query = ticketListQuery.parse({ sort, ...status });
        await expectOneRange(ticketsAfter(after, query), ranges);
      },
    );

    test('between two dates reads one index range', async () => {
      const field = sort.replace('-', '');
      const query = ticketListQuery.parse({
        sort,
        [`${field}[gte]`]: '2026-01-01T00:00:10Z',
        [`${field}[lte]`]: '2026-01-03',
      });
      await expectOneRange(ticketsAfter(after, query), 1);
    });

    const [otherDate, few] = sort.includes('created')
      ? ['updatedAt', 'updatedAt[gte]=2026-01-02T03:46:39Z']
      : ['createdAt', 'createdAt[lte]=2026-01-01T00:00:10Z'];
    describe.each([
      ['most', `${otherDate}[gte]=2026-01-01T01:00:00Z`],
      ['few', few],
    ])('%s of which match the other date', (__, bound) => {
      test.each(searches)('of %s scans a bounded number of index entries', async (___, status, ranges) => {
        const query = ticketListQuery.parse({ sort, ...status, ...Object.fromEntries([bound.split('=')]) });
        await expectBoundedScan(ticketsAfter(after, query), ranges);
      });
    });
  });

  test.each([
    ['messages', threadQuery(thread, after)],
    ['messages, the first half of which has expired', threadQuery({ ...thread, from: keyAt(0.5) }, after)],
    [
      'the conversations that a ticket does not embed',
      remainingQuery({ orgId: 'org_a', ticketId: 'ti_1', after: after ?? keyAt(0.1) }),
    ],
    ['channels', channelPageQuery({ orgId: 'org_a', limit, after })],
    ['channels of a type', channelPageQuery({ orgId: 'org_a', limit, type: 'email', after })],
    ['Q&As', qaPageQuery({ orgId: 'org_a', limit, after })],
  ])('of %s reads one index range', (_title, query) => expectOneRange({ ...query, limit }, 1));
});

test('a read of the starts of several threads reads one index range for each thread', async () => {
  const wanted = ['conv_0', 'conv_1', 'conv_2'].map((conversationId) => ({ orgId: 'org_a', conversationId }));
  const plan = await explain(findThreads(wanted));
  expect(plan).toMatchObject({ scans: ['thread'], sorts: false, readsAll: false });
  expectExamined([plan], ([read]) => {
    expect(read?.documents).toBe(300);
    expect(read?.keys).toBeLessThanOrEqual(300 + wanted.length);
  });
});

test('a sweep reads only the conversations that may have expired', async () => {
  const channel = { id: 'chan_1', orgId: 'org_a' };
  const upTo = new Date(epochMs + 99 * stepMs);
  const plan = planOf(await createdCursor(store.database, channel, '', upTo).explain('executionStats'));
  explained.add('conversation channel');
  expect(plan).toMatchObject({ scans: ['channel'], sorts: false, readsAll: false });
  expectExamined([plan], ([read]) => expect(read).toEqual({ keys: 100, documents: 100 }));
});

test('this file explains a query for every index with a sort key', () => {
  const lists = Object.entries(resources).flatMap(([kind, { indexes }]) =>
    indexes.filter(({ key }) => JSON.stringify(key).includes('"by')).map(({ name }) => `${kind} ${name}`),
  );
  expect(lists.filter((index) => !explained.has(index))).toEqual([]);
});
