import { z } from 'zod';
import { conversationRoles, conversationStatuses } from '../../../../shared/documents/conversation.ts';
import { ticketStatuses } from '../../../../shared/documents/ticket.ts';
import { severalOf, oneOf } from '../../http/query-string.ts';
import { dateBound } from '../../paging/bounds.ts';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { secondsSchema } from '../timestamps.ts';

export const ticketSorts = ['createdAt', '-createdAt', 'updatedAt', '-updatedAt'] as const;

export const ticketListQuery = z.object({
  ...pageParameters,
  sort: oneOf(ticketSorts).default('-updatedAt').describe('`-` means descending'),
  status: severalOf(ticketStatuses).optional().describe('Repeat it to match several'),
  'createdAt[gte]': dateBound.optional().describe('Inclusive'),
  'createdAt[lte]': dateBound.optional().describe('Inclusive'),
  'updatedAt[gte]': dateBound.optional().describe('Inclusive'),
  'updatedAt[lte]': dateBound.optional().describe('Inclusive'),
});

const label = z.strictObject({ id: z.string(), name: z.string() });
const conversationId = z.string().startsWith('conv_');
const role = z.enum(conversationRoles);

const ticketFields = {
  id: z.string().startsWith('ti_'),
  object: z.literal('ticket'),
  title: z.string(),
  status: z.enum(ticketStatuses),
  requester: z.strictObject({
    id: z.string().startsWith('con_'),
    name: z.string().nullable(),
    email: z.strictObject({ email: z.string(), verified: z.boolean() }).nullable(),
  }),
  tags: z.array(label),
  topics: z.array(label),
  estimatedScore: z.int().min(1).max(5).nullable(),
};
const ticketTimes = { createdAt: secondsSchema, updatedAt: secondsSchema };

const conversationReference = z.strictObject({ id: conversationId, role });

const embeddedConversation = z.strictObject({
  id: conversationId,
  object: z.literal('conversation'),
  ticketId: z.string().startsWith('ti_'),
  role,
  status: z.enum(conversationStatuses),
  createdAt: secondsSchema,
  updatedAt: secondsSchema,
});

/** A ticket in a list: its conversations as references. */
export const ticketItemSchema = z.strictObject({
  ...ticketFields,
  conversations: z.array(conversationReference),
  ...ticketTimes,
});
/** A ticket retrieved: its conversations in full. */
export const ticketSchema = z.strictObject({
  ...ticketFields,
  conversations: z.array(embeddedConversation),
  ...ticketTimes,
});
export const ticketListSchema = listSchema(ticketItemSchema);

export type TicketListQuery = z.output<typeof ticketListQuery>;
export type TicketItem = z.output<typeof ticketItemSchema>;
export type TicketView = z.output<typeof ticketSchema>;
