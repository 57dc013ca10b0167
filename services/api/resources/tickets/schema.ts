import { z } from 'zod';
import { conversationRoles, conversationStatuses } from '../../../../shared/documents/conversation.ts';
import { ticketStatuses } from '../../../../shared/documents/ticket.ts';
import { oneOf, severalOf } from '../../http/parameters.ts';
import { dateBound } from '../../paging/date-range.ts';
import { listEnvelope, listSchema } from '../../paging/list-envelope.ts';
import { exampleCursor, pageParameters } from '../../paging/page-parameters.ts';
import { choice, component, displayName, flag, labelSchema, objectOrNull, secondsSchema } from '../fields.ts';

export const ticketSorts = ['createdAt', '-createdAt', 'updatedAt', '-updatedAt'] as const;

const precision =
  'An ISO 8601 date, or a time with `Z` or an offset. A date covers that whole day in UTC, a time without seconds ' +
  'that whole minute, and a time without a fraction, or with a fraction of zeros, that whole second.';
const bound = (meaning: string, otherDate: string, example: string) =>
  dateBound
    .optional()
    .meta({
      description: `${meaning} (inclusive). ${precision} Cannot be combined with \`${otherDate}[…]\`.`,
      examples: [example],
    });

export const ticketListQuery = z.object({
  ...pageParameters,
  sort: oneOf(ticketSorts)
    .default('-updatedAt')
    .meta({
      description: 'The sort field, in ascending order; with `-` before it, in descending order.',
      examples: ['updatedAt'],
      'x-enum-varnames': ['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC'],
    }),
  status: severalOf(ticketStatuses)
    .optional()
    .meta({
      description:
        'Only tickets with this status. Repeat the parameter for several statuses. `resolved` does not include ' +
        '`assumed_resolved`.',
      examples: [['open', 'snoozed']],
    }),
  'createdAt[gte]': bound('Tickets created at this time or later', 'updatedAt', '2026-01-31T12:00:00Z'),
  'createdAt[lte]': bound('Tickets created at this time or earlier', 'updatedAt', '2026-02-28'),
  'updatedAt[gte]': bound('Tickets last updated at this time or later', 'createdAt', '2026-01-31T12:00:00Z'),
  'updatedAt[lte]': bound('Tickets last updated at this time or earlier', 'createdAt', '2026-02-28'),
});

const conversationId = z.string().startsWith('conv_').describe('Id of the conversation.');
const role = choice(
  conversationRoles,
  '`primary`: the thread with the requester. `side`: an isolated thread with another party, such as a supplier.',
);

const requester = component('Requester', 'The contact who requested the ticket.', {
  id: z.string().startsWith('con_').describe('Id of the contact.'),
  name: displayName,
  email: objectOrNull('The email address; null if it is unknown.', {
    email: z.string().describe('The address itself.'),
    verified: flag('True if ownership of the address is proven; false if the address was only typed in.'),
  }),
});

const ticketFields = {
  id: z.string().startsWith('ti_').describe('Id of the ticket.'),
  object: z.literal('ticket').describe('Always `ticket`.'),
  title: z.string().describe('The subject or a summary.'),
  status: choice(ticketStatuses, 'The status of the ticket.'),
  requester,
  tags: z.array(labelSchema).describe('The tags of the ticket.'),
  topics: z.array(labelSchema).describe('The topics of the ticket.'),
  estimatedScore: z
    .int()
    .min(1)
    .max(5)
    .nullable()
    .describe(
      'The satisfaction of the requester as the AI estimates it, from 1 (poor) to 5 (great). Null until the AI has ' +
        'analyzed the ticket, after the ticket is resolved.',
    ),
};
const ticketTimes = {
  createdAt: secondsSchema.describe('When the ticket was created.'),
  updatedAt: secondsSchema.describe('When the ticket was last updated.'),
};

const conversationReference = component(
  'ConversationReference',
  'A reference to a conversation of a ticket.',
  { id: conversationId, role },
);

const ticketConversation = component('TicketConversation', 'A conversation inside a retrieved ticket.', {
  id: conversationId,
  object: z.literal('conversation').describe('Always `conversation`.'),
  ticketId: z.string().startsWith('ti_').describe('Id of the ticket to which the conversation belongs.'),
  role,
  status: choice(
    conversationStatuses,
    'The status of the conversation. Unlike in a retrieved conversation, it can be `archived`.',
  ),
  createdAt: secondsSchema.describe('When the conversation was created.'),
  updatedAt: secondsSchema.describe('When the conversation was last updated.'),
});

const order = 'oldest first';
const completeness =
  'At most one has the role `primary`. A ticket has none before its primary conversation has arrived, or after the ' +
  'retention of that conversation has expired.';

/** A ticket in a list, with references to its conversations. */
const ticketItemSchema = component(
  'TicketItem',
  'A ticket in a list, with references to its conversations.',
  {
    ...ticketFields,
    conversations: z
      .array(conversationReference)
      .describe(`References to the conversations of the ticket, ${order}. ${completeness}`),
    ...ticketTimes,
  },
);
/** A retrieved ticket, with its conversations in full. */
export const ticketSchema = component(
  'Ticket',
  'A case: at most one primary conversation and any number of side conversations.',
  {
    ...ticketFields,
    conversations: z
      .array(ticketConversation)
      .describe(`The conversations of the ticket, ${order}, without their messages. ${completeness}`),
    ...ticketTimes,
  },
);
export const ticketListSchema = listSchema('TicketList', ticketItemSchema);

export type TicketListQuery = z.output<typeof ticketListQuery>;
export type TicketItem = z.output<typeof ticketItemSchema>;
export type TicketConversation = z.output<typeof ticketConversation>;
export type ConversationReference = z.output<typeof conversationReference>;
export type TicketResponse = z.output<typeof ticketSchema>;

/** The example of the OpenAPI document. The examples of all endpoints use the same ids, so readers can follow them. */
export const ticketExample: TicketResponse = {
  id: 'ti_01K3QZ8M4T',
  object: 'ticket',
  title: 'Invoice shows the wrong amount',
  status: 'resolved',
  requester: {
    id: 'con_01K3QZ7A2B',
    name: 'Ada Lovelace',
    email: { email: 'ada@example.com', verified: true },
  },
  tags: [{ id: 'tag_01K2AB', name: 'vip' }],
  topics: [{ id: 'top_01K2CD', name: 'Billing' }],
  estimatedScore: 4,
  conversations: [
    {
      id: 'conv_01K3QZ8N6V',
      object: 'conversation',
      ticketId: 'ti_01K3QZ8M4T',
      role: 'primary',
      status: 'resolved',
      createdAt: '2026-01-31T09:15:02Z',
      updatedAt: '2026-01-31T12:40:57Z',
    },
    {
      id: 'conv_01K3R07C3D',
      object: 'conversation',
      ticketId: 'ti_01K3QZ8M4T',
      role: 'side',
      status: 'archived',
      createdAt: '2026-01-31T10:02:44Z',
      updatedAt: '2026-01-31T11:30:00Z',
    },
  ],
  createdAt: '2026-01-31T09:15:02Z',
  updatedAt: '2026-01-31T12:40:57Z',
};

const item: TicketItem = {
  ...ticketExample,
  conversations: ticketExample.conversations.map(({ id, role: conversationRole }) => ({
    id,
    role: conversationRole,
  })),
};

export const ticketListExample = listEnvelope('/v1/tickets', [item], exampleCursor);
