import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import { ApiError } from '../../http/api-error.ts';
import { idParameter, noParameters } from '../../http/parameters.ts';
import { type Clock, defineRoute } from '../../http/route.ts';
import { answerPage, readListPage, streamPage } from '../../paging/list-page.ts';
import { readPage } from '../../paging/page-query.ts';
import { readStored } from '../../store/readable.ts';
import { findById } from '../find-by-id.ts';
import { hasMoreConversations, ticketChunks, ticketWriter, visibleConversations } from './conversations.ts';
import {
  type ConversationSummary,
  presentTicket,
  presentTicketConversation,
  presentTicketItem,
} from './presenter.ts';
import { ticketFilters, ticketPageQuery, ticketSortField } from './query.ts';
import {
  ticketExample,
  ticketListExample,
  ticketListQuery,
  ticketListSchema,
  ticketSchema,
} from './schema.ts';

export const listTickets = ({ now }: Clock) =>
  defineRoute({
    path: '/v1/tickets',
    operationId: 'listTickets',
    tag: 'Tickets',
    summary: 'List tickets',
    description:
      'Returns the tickets of the organization in the order of `sort`, then by id. Each ticket has references to its ' +
      'conversations. To export the changes since a time, filter by `updatedAt[gte]`, then fetch the messages of ' +
      'the conversations of each ticket.',
    params: noParameters,
    query: ticketListQuery,
    response: ticketListSchema,
    example: ticketListExample,
    errors: ['invalid_cursor', 'conflicting_date_range'],
    handler: async (scope, { query }) => {
      const { orgId, store } = scope;
      const { sort, limit, startingAfter } = query;
      const filters = ticketFilters(query);
      const instant = now();
      const page = await readListPage(scope, {
        kind: 'ticket',
        cursorScope: { list: 'tickets', sort, filters },
        startingAfter,
        read: (after) =>
          readPage<TicketDocument>(store, ticketPageQuery({ orgId, sort, limit, filters, after })),
        present: (ticket) => presentTicketItem(ticket, instant),
      });
      if (!page.items.some(hasMoreConversations)) return answerPage(page);
      const field = ticketSortField(sort);
      return streamPage(page, ticketWriter(store, { orgId, now: instant, field }));
    },
  });

export const retrieveTicket = ({ now }: Clock) =>
  defineRoute({
    path: '/v1/tickets/:id',
    operationId: 'retrieveTicket',
    tag: 'Tickets',
    summary: 'Retrieve a ticket',
    description:
      'Returns the ticket with its conversations, oldest first, without their messages. Fetch the messages of each conversation separately.',
    params: idParameter('ti_', ticketExample.id),
    query: noParameters,
    response: ticketSchema,
    example: ticketExample,
    errors: ['ticket_not_found'],
    handler: async ({ orgId, store }, { params }) => {
      const ticket = await findById<TicketDocument>(store, 'ticket', params.id);
      if (!ticket) throw new ApiError('ticket_not_found');
      const instant = now();
      const presented = readStored('ticket', params.id, () => presentTicket(ticket, instant));
      if (!hasMoreConversations(ticket)) return { body: presented };
      const conversations = visibleConversations(store, ticket, { orgId, now: instant });
      const present = (conversation: ConversationSummary) =>
        presentTicketConversation(params.id, conversation);
      return { chunks: ticketChunks(store, presented, conversations, present) };
    },
  });
