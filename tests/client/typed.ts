import {
  exportChanges,
  type Client,
  type ErrorCode,
  type Message,
  type TicketItem,
} from '../../clients/typescript/src/index.ts';

/** What the compiler is to refuse: a directive that has nothing to expect is an error itself. Never called. */
export function misuses(client: Client) {
  return [
    // @ts-expect-error no such parameter
    client.tickets.list({ page: 2 }),
    // @ts-expect-error a limit is a number
    client.tickets.list({ limit: '20' }),
    // @ts-expect-error no such order
    client.tickets.all({ sort: 'title' }),
    // @ts-expect-error no such status
    client.tickets.pages({ status: ['done'] }),
    // @ts-expect-error a status is one of a list
    client.tickets.list({ status: 'open' }),
    // @ts-expect-error a bound is text or a Date
    client.tickets.list({ updatedAt: { gte: 1_767_225_600 } }),
    // @ts-expect-error bounds are gte and lte
    client.tickets.list({ updatedAt: { gt: '2026-01-01' } }),
    // @ts-expect-error bounds are of a field, and of no list that has none
    client.qas.list({ updatedAt: { gte: '2026-01-01' } }),
    // @ts-expect-error a walk has no single answer that could be known
    client.tickets.all({}, { ifNoneMatch: 'W/"1"' }),
    // @ts-expect-error channels have no status to filter by
    client.channels.list({ status: ['open'] }),
    // @ts-expect-error a list of messages is that of a conversation
    client.conversations.messages.list({ limit: 20 }),
    // @ts-expect-error an id is text
    client.tickets.retrieve(1),
    // @ts-expect-error Q&As are not retrieved one by one
    client.qas.retrieve,
    // @ts-expect-error the API is read-only
    client.tickets.update,
    // @ts-expect-error threads are messages or conversations
    exportChanges({ client, threads: 'all' }),
  ] as unknown[];
}

/** What answers are to be, to the compiler. */
export async function uses(client: Client): Promise<[TicketItem['status'], string | null, Message[], Date]> {
  const ticket = await client.tickets.retrieve('ti_1');
  const channel = await client.channels.retrieve('chan_1');
  if (channel.data.type === 'form') void channel.data.config.fields;
  // @ts-expect-error a channel of any type has no heading
  void channel.data.config.title;
  // @ts-expect-error the conversations of a listed ticket are references
  void (await client.tickets.list()).data[0]?.conversations[0]?.status;
  // Codes and values of later releases are no errors of the types.
  const code: ErrorCode = 'ticket_gone';
  if (ticket.data.status === 'of a later release') void code;
  const held = await client.tickets.retrieve('ti_1', { ifNoneMatch: ticket.etag });
  // @ts-expect-error there is no data where nothing has changed
  void held.data.id;
  if (!held.notModified) void held.data.id;
  const page = await client.conversations.messages.list('conv_1', { limit: 20 });
  return [ticket.data.status, page.nextCursor, page.data, ticket.dataAsOf];
}
