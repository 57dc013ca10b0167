import { z } from 'zod';
import { conversationRoles, conversationStatuses } from '../../../../shared/documents/conversation.ts';
import { ticketStatuses } from '../../../../shared/documents/ticket.ts';
import { severalOf, oneOf } from '../../http/parameters.ts';
import { dateBound } from '../../paging/date-range.ts';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { labelSchema, secondsSchema } from '../fields.ts';

export const ticketSorts = ['createdAt', '-createdAt', 'updatedAt', '-updatedAt'] as const;

const precision =
  'An ISO 8601 date (UTC) or a time with `Z` or an offset; what is given to the day, minute or second ' +
  'covers the whole of it.';
const bound = (meaning: string, other: string, example: string) =>
  dateBound.optional().meta({
    description: `${meaning}, inclusive. ${precision} Not together with \`${other}[…]\`.`,
    examples: [example],
  });

export const ticketListQuery = z.object({
  ...pageParameters,
  sort: oneOf(ticketSorts)
    .default('-updatedAt')
    .meta({ description: 'The order of the list; `-` means descending.', examples: ['updatedAt'] }),
  status: severalOf(ticketStatuses)
    .optional()
    .meta({
      description:
        'Tickets in this status only; repeat the parameter to match several. The match is exact: `resolved` ' +
        'does not include `assumed_resolved`.',
      examples: [['open', 'snoozed']],
    }),
  'createdAt[gte]': bound('Created at this time or later', 'updatedAt', '2026-01-31T12:00:00Z'),
  'createdAt[lte]': bound('Created at this time or earlier', 'updatedAt', '2026-02-28'),
  'updatedAt[gte]': bound('Updated at this time or later', 'createdAt', '2026-01-31T12:00:00Z'),
  'updatedAt[lte]': bound('Updated at this time or earlier', 'createdAt', '2026-02-28'),
});

const conversationId = z.string().startsWith('conv_').describe('Id of the conversation.');
const role = z
  .enum(conversationRoles)
  .describe('`primary` is the thread with the requester, `side` an isolated one with another party.');

const requester = z
  .strictObject({
    id: z.string().startsWith('con_').describe('Id of the contact.'),
    name: z.string().nullable().describe('Display name; null if none is known.'),
    email: z
      .strictObject({
        email: z.string().describe('The address.'),
        verified: z
          .boolean()
          .describe('True when ownership is proven; false for an address that was merely typed in.'),
      })
      .nullable()
      .describe('Null if no address is known.'),
  })
  .meta({ id: 'Requester', description: 'The contact that a ticket is for.' });

const ticketFields = {
  id: z.string().startsWith('ti_').describe('Id of the ticket.'),
  object: z.literal('ticket').describe('Always `ticket`.'),
  title: z.string().describe('Subject or summary.'),
  status: z.enum(ticketStatuses).describe('Where the case stands.'),
  requester,
  tags: z.array(labelSchema).describe('Tags on the ticket.'),
  topics: z.array(labelSchema).describe('Topics on the ticket.'),
  estimatedScore: z
    .int()
    .min(1)
    .max(5)
    .nullable()
    .describe(
      'Satisfaction from 1 (poor) to 5 (great), as estimated by AI; null until the ticket has been analyzed, ' +
        'which happens after it is resolved.',
    ),
};
const ticketTimes = {
  createdAt: secondsSchema.describe('When the ticket was created.'),
  updatedAt: secondsSchema.describe('When the ticket was last updated.'),
};

const conversationReference = z
  .strictObject({ id: conversationId, role })
  .meta({ id: 'ConversationReference', description: 'A conversation of a ticket in a list.' });

const ticketConversation = z
  .strictObject({
    id: conversationId,
    object: z.literal('conversation').describe('Always `conversation`.'),
    ticketId: z.string().startsWith('ti_').describe('Id of the ticket that it belongs to.'),
    role,
    status: z.enum(conversationStatuses).describe('Where the conversation stands; may be `archived` here.'),
    createdAt: secondsSchema.describe('When the conversation was created.'),
    updatedAt: secondsSchema.describe('When the conversation was last updated.'),
  })
  .meta({ id: 'TicketConversation', description: 'A conversation of a retrieved ticket.' });

const order = 'By creation, oldest first.';

/** A ticket in a list, with references to its conversations. */
const ticketItemSchema = z
  .strictObject({
    ...ticketFields,
    conversations: z.array(conversationReference).describe(`References to its conversations. ${order}`),
    ...ticketTimes,
  })
  .meta({ id: 'TicketItem', description: 'A ticket in a list, its conversations as references.' });
/** A retrieved ticket, with its conversations in full. */
export const ticketSchema = z
  .strictObject({
    ...ticketFields,
    conversations: z.array(ticketConversation).describe(`Its conversations, without messages. ${order}`),
    ...ticketTimes,
  })
  .meta({ id: 'Ticket', description: 'A case: one primary conversation, and any number of side ones.' });
export const ticketListSchema = listSchema('TicketList', ticketItemSchema);

export type TicketListQuery = z.output<typeof ticketListQuery>;
export type TicketItem = z.output<typeof ticketItemSchema>;
export type TicketConversation = z.output<typeof ticketConversation>;
export type ConversationReference = z.output<typeof conversationReference>;
export type TicketResponse = z.output<typeof ticketSchema>;
