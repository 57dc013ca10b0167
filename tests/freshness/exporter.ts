import {
  exportChanges,
  type Client,
  type Conversation,
  type TicketItem,
} from '../../clients/typescript/src/index.ts';

/** The exported tickets and conversations, by id. */
export type Copy = { tickets: Map<string, TicketItem>; conversations: Map<string, Conversation> };

export const createCopy = (): Copy => ({ tickets: new Map(), conversations: new Map() });

/** One run of the export, with the threads; returns the start of the next run. */
export async function exportRound(client: Client, copy: Copy, since: string | undefined): Promise<string> {
  let next = '';
  for await (const batch of exportChanges({ client, since, threads: 'conversations', limit: 5 })) {
    for (const ticket of batch.tickets) copy.tickets.set(ticket.id, ticket);
    for (const conversation of batch.conversations) copy.conversations.set(conversation.id, conversation);
    next = batch.since;
  }
  return next;
}
