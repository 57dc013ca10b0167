import { ticketStatuses } from '../../../../shared/documents/ticket.ts';
import { ApiError } from '../../http/api-error.ts';
import { type DateRange, dateRangeOf } from '../../paging/date-range.ts';
import { keyRange, type SortField } from '../../paging/key-range.ts';
import type { PageQuery, PageRequest } from '../../paging/page-query.ts';
import type { TicketListQuery } from './schema.ts';

/** The filters of a ticket list, normalized. The cursors of the list are valid only with the same filters. */
type TicketFilters = { statuses: string[]; created: DateRange; updated: DateRange };

const isBounded = ({ from, until }: DateRange): boolean => from !== null || until !== null;

/** Throws `conflicting_date_range` if both dates are bounded. */
export function ticketFilters(query: TicketListQuery): TicketFilters {
  const created = dateRangeOf(query['createdAt[gte]'], query['createdAt[lte]']);
  const updated = dateRangeOf(query['updatedAt[gte]'], query['updatedAt[lte]']);
  if (isBounded(created) && isBounded(updated)) throw new ApiError('conflicting_date_range');
  const chosen = new Set<string>(query.status ?? []);
  const statuses = ticketStatuses.filter((status) => chosen.has(status));
  // All statuses together exclude nothing. Without the filter, the query scans one range instead of five.
  return { statuses: statuses.length === ticketStatuses.length ? [] : statuses, created, updated };
}

export const ticketSortField = (sort: TicketListQuery['sort']) =>
  sort.endsWith('createdAt') ? ('byCreated' as const) : ('byUpdated' as const);

/** The index for each sort field, with and without a filter on the status. */
const indexes = {
  withoutStatus: { byCreated: 'created', byUpdated: 'updated' },
  withStatus: { byCreated: 'statusCreated', byUpdated: 'statusUpdated' },
} as const;

export function ticketPageQuery({
  orgId,
  sort,
  limit,
  filters,
  after,
}: PageRequest & { sort: TicketListQuery['sort']; filters: TicketFilters }): PageQuery {
  const { statuses, created, updated } = filters;
  const field = ticketSortField(sort);
  const direction = sort.startsWith('-') ? 'descending' : 'ascending';
  const isByCreated = field === 'byCreated';
  // `byUpdated >= byCreated` for every ticket. A ticket created since a time was therefore updated since that time, so
  // one bound on the other date also narrows the range of the index.
  const dateRange = isByCreated
    ? { from: created.from, until: created.until ?? updated.until }
    : { from: updated.from ?? created.from, until: updated.until };
  const otherField: SortField = isByCreated ? 'byUpdated' : 'byCreated';
  const otherRange = isByCreated ? updated : created;
  const [status, ...otherStatuses] = statuses;
  const indexesByField = status === undefined ? indexes.withoutStatus : indexes.withStatus;
  const equals: PageQuery['equals'] = { orgId };
  if (status !== undefined) equals['state.status'] = otherStatuses.length === 0 ? status : { $in: statuses };
  return {
    kind: 'ticket',
    equals,
    field,
    direction,
    range: keyRange(dateRange, { after, direction }),
    filter: isBounded(otherRange)
      ? { [otherField]: keyRange(otherRange, { after: null, direction }) }
      : undefined,
    hint: indexesByField[field],
    limit,
  };
}
