import type { Document } from 'mongodb';
import { resources } from '../../shared/documents/resources.ts';
import { ticketSorts } from '../../services/api/resources/tickets/schema.ts';
import { ticketStatuses } from '../../shared/documents/ticket.ts';
import * as build from './builders.ts';
import { listOf, useApi } from './test-api.ts';

const size = 6_000;
const scanEntriesMax = 2_000;
const second = (index: number) => new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString();

/** Updated in random order, and never before they were created. */
const updatedIndex = (index: number) => index + ((index * 7_919) % (size - index));
const tickets = Array.from({ length: size }, (_, index) =>
  build.ticket({
    id: `ti_${String(index).padStart(6, '0')}`,
    status: ticketStatuses[index % ticketStatuses.length],
    createdAt: second(index),
    updatedAt: second(updatedIndex(index)),
  }),
);
type Ticket = (typeof tickets)[number];

const api = useApi({ ticket: tickets }, { scanEntriesMax, monitored: true });

/** Returns the ticket queries since the last call. */
const takeQueries = () =>
  api.commands
    .splice(0)
    .flatMap(({ command }) => (command.find === resources.ticket.collection ? [command] : []));

/** Counts the index entries that a query examines: all entries of its ranges, and one more at the start of each but the first. */
async function entriesOf({ filter, sort, skip = 0, limit }: Document): Promise<number> {
  const [field] = (sort as Map<string, number>).keys();
  const other = field === 'byCreated' ? 'byUpdated' : 'byCreated';
  const { [other]: unused, ...range } = filter as Document;
  const inRange = await api.store.database.collection(resources.ticket.collection).countDocuments(range);
  const { $in: statuses = [''] } = (range['state.status'] ?? {}) as { $in?: string[] };
  const isFiltered = unused !== undefined;
  const inRanges = isFiltered ? inRange : Math.min(inRange, Number(skip) + Number(limit));
  return inRanges + statuses.length - 1;
}

async function readAllPages(path: string): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let pages = 0;
  let cursor: string | null = null;
  do {
    takeQueries();
    const page = listOf(await api.get(cursor === null ? path : `${path}&startingAfter=${cursor}`));
    let entries = 0;
    for (const query of takeQueries()) entries += await entriesOf(query);
    expect(entries).toBeLessThanOrEqual(scanEntriesMax);
    expect(page.hasMore).toBe(page.nextCursor !== null);
    ids.push(...page.data.map(({ id }) => id));
    pages += 1;
    cursor = page.nextCursor;
  } while (cursor !== null);
  return { ids, pages };
}

const latest = second(size - 1);
/** Filters on the date that the list is not sorted by. */
const filters: Record<'createdAt' | 'updatedAt', [string, string, (ticket: Ticket) => boolean][]> = {
  createdAt: [
    ['none', 'createdAt[lte]=2020-01-01', () => false],
    ['the oldest', `createdAt[lte]=${second(2)}`, ({ state }) => state.createdAt <= new Date(second(2))],
    ['nearly all', `createdAt[gte]=${second(3)}`, ({ state }) => state.createdAt >= new Date(second(3))],
  ],
  updatedAt: [
    ['none', 'updatedAt[gte]=2030-01-01', () => false],
    ['the latest', `updatedAt[gte]=${latest}`, ({ state }) => state.updatedAt >= new Date(latest)],
    ['nearly all', `updatedAt[gte]=${second(3)}`, ({ state }) => state.updatedAt >= new Date(second(3))],
  ],
};

const inOrder = (sort: string) => (a: Ticket, b: Ticket) => {
  const field = sort.endsWith('createdAt') ? 'byCreated' : 'byUpdated';
  const order = (a[field] ?? '') < (b[field] ?? '') ? -1 : 1;
  return sort.startsWith('-') ? -order : order;
};

describe.each(ticketSorts)('a page of tickets by %s', (sort) => {
  const other = sort.endsWith('createdAt') ? 'updatedAt' : 'createdAt';
  describe.each(filters[other])('%s of which match the other date', (_, filter, matches) => {
    it.each([
      ['any status', '', () => true],
      [
        'three statuses',
        '&status=open&status=closed&status=snoozed',
        ({ state }: Ticket) => ['open', 'closed', 'snoozed'].includes(state.status),
      ],
    ] as [string, string, (ticket: Ticket) => boolean][])(
      'examines few index entries, and the pages contain each match once: %s',
      async (__, statuses, hasStatus) => {
        const expected = tickets
          .filter((ticket) => matches(ticket) && hasStatus(ticket))
          .toSorted(inOrder(sort))
          .map(({ _id }) => _id);
        const { ids, pages } = await readAllPages(`/v1/tickets?sort=${sort}&${filter}${statuses}&limit=100`);
        expect(ids).toEqual(expected);
        expect(pages).toBeLessThanOrEqual(
          Math.ceil(expected.length / 100) + Math.ceil(size / (scanEntriesMax / 2)) + 1,
        );
      },
    );
  });
});

it('queries the store once if no scan has to be limited', async () => {
  for (const path of ['/v1/tickets', '/v1/tickets?status=open', `/v1/tickets?updatedAt[gte]=${second(9)}`]) {
    takeQueries();
    await api.get(path);
    expect([path, takeQueries().length]).toEqual([path, 1]);
  }
});
