import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import { ApiError } from '../../http/api-error.ts';
import { joinChunks } from '../../http/json-chunks.ts';
import { idParameter, noParams } from '../../http/path-parameters.ts';
import { noQuery } from '../../http/query-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import type { Clock } from '../retention.ts';
import { decodeCursor } from '../../paging/cursor.ts';
import { listChunks, listEnvelope } from '../../paging/list-envelope.ts';
import { readPage } from '../../paging/page-query.ts';
import { hasRest, listedTickets, readConversations, ticketChunks } from './conversations.ts';
import { ticketExample, ticketListExample } from './examples.ts';
import { presentTicket, presentTicketConversation, presentTicketItem } from './presenter.ts';
import { findTicket, ticketCursorScope, ticketFilters, ticketPageQuery, ticketSortField } from './query.ts';
import { ticketListQuery, ticketListSchema, ticketSchema } from './schema.ts';

const listTickets = ({ now }: Clock) =>
  defineRoute({
    method: 'GET',
    path: '/v1/tickets',
    operationId: 'listTickets',
    tag: 'Tickets',
    summary: 'Lists tickets',
    description:
      'The tickets of the organization in the order of `sort`, ties by id, their conversations as references. ' +
      'To export what has changed since a time, filter with `updatedAt[gte]` and then fetch the threads of ' +
      'each ticket.',
    params: noParams,
    query: ticketListQuery,
    response: ticketListSchema,
    example: ticketListExample,
    errors: ['invalid_cursor', 'conflicting_date_range'],
    handler: async ({ orgId, store, path }, { query }) => {
      const filters = ticketFilters(query);
      const scope = ticketCursorScope(orgId, query, filters);
      const after = query.startingAfter === undefined ? null : decodeCursor(query.startingAfter, scope);
      const page = await readPage<TicketDocument>(store, ticketPageQuery(orgId, query, filters, after));
      const field = ticketSortField(query.sort);
      const keyOf = (ticket: TicketDocument) => ticket[field];
      const instant = now();
      const present = (ticket: TicketDocument) => presentTicketItem(ticket, instant);
      if (!page.items.some(hasRest)) return { body: listEnvelope(page, { scope, path }, present) };
      const listed = listedTickets(store, { orgId, now: instant });
      return { chunks: joinChunks(listChunks(page, { scope, path, keyOf }, listed)) };
    },
  });

const retrieveTicket = ({ now }: Clock) =>
  defineRoute({
    method: 'GET',
    path: '/v1/tickets/:id',
    operationId: 'retrieveTicket',
    tag: 'Tickets',
    summary: 'Retrieves a ticket',
    description: 'The ticket with its conversations, oldest first. Messages are fetched per conversation.',
    params: idParameter('ti_', ticketExample.id),
    query: noQuery,
    response: ticketSchema,
    example: ticketExample,
    errors: ['ticket_not_found'],
    handler: async ({ orgId, store }, { params }) => {
      const ticket = await findTicket(store, orgId, params.id);
      if (!ticket) throw new ApiError('ticket_not_found');
      const instant = now();
      if (!hasRest(ticket)) return { body: presentTicket(ticket, instant) };
      const conversations = readConversations(store, { orgId, now: instant }, ticket);
      const present = presentTicketConversation(params.id);
      return { chunks: ticketChunks(presentTicketItem(ticket, instant), conversations, present) };
    },
  });

export const ticketRoutes = (clock: Clock): Route[] => [listTickets(clock), retrieveTicket(clock)];
