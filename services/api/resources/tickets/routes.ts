import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import { ApiError } from '../../http/api-error.ts';
import { idParameter, noParams } from '../../http/path-parameters.ts';
import { noQuery } from '../../http/query-string.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { decodeCursor } from '../../paging/cursor.ts';
import { listEnvelope } from '../../paging/list-envelope.ts';
import { readPage } from '../../paging/page-query.ts';
import { presentTicket, presentTicketItem } from './presenter.ts';
import { findTicket, ticketCursorScope, ticketFilters, ticketPageQuery, ticketSortField } from './query.ts';
import { ticketListQuery, ticketListSchema, ticketSchema } from './schema.ts';

const listTickets = defineRoute({
  method: 'GET',
  path: '/v1/tickets',
  summary: 'Lists the tickets of the organization',
  params: noParams,
  query: ticketListQuery,
  response: ticketListSchema,
  errors: ['invalid_query_parameter', 'invalid_cursor', 'conflicting_date_range'],
  handler: async ({ orgId, database, path }, { query }) => {
    const filters = ticketFilters(query);
    const scope = ticketCursorScope(orgId, query, filters);
    const after = query.startingAfter === undefined ? null : decodeCursor(query.startingAfter, scope);
    const page = await readPage<TicketDocument>(database, ticketPageQuery(orgId, query, filters, after));
    const field = ticketSortField(query.sort);
    return { body: listEnvelope(page, scope, path, (ticket) => ticket[field], presentTicketItem) };
  },
});

const retrieveTicket = defineRoute({
  method: 'GET',
  path: '/v1/tickets/:id',
  summary: 'Retrieves a ticket with its conversations',
  params: idParameter('ti_'),
  query: noQuery,
  response: ticketSchema,
  errors: ['ticket_not_found', 'invalid_path_parameter', 'invalid_query_parameter'],
  handler: async ({ orgId, database }, { params }) => {
    const ticket = await findTicket(database, orgId, params.id);
    if (!ticket) throw new ApiError('ticket_not_found');
    return { body: presentTicket(ticket) };
  },
});

export const ticketRoutes: Route[] = [listTickets, retrieveTicket];
