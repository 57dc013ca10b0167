import {
  type Client,
  type ErrorCode,
  exportChanges,
  type Message,
  type TicketItem,
} from '../../clients/typescript/src/index.ts';

/** Calls that the compiler must refuse: a directive without an error is itself an error. Never called. */
export function misuses(client: Client) {
  return [
    // @ts-expect-error no such parameter
    client.tickets.list({ page: 2 }),
    // @ts-expect-error a limit is a number
    client.tickets.list({ limit: '20' }),
    // @ts-expect-error no such status
    client.tickets.list({ status: ['done'] }),
    // @ts-expect-error a status is one of a list
    client.tickets.list({ status: 'open' }),
    // @ts-expect-error a bound is a string or a Date
    client.tickets.list({ updatedAt: { gte: 1_767_225_600 } }),
    // @ts-expect-error this list has no field to bound
    client.qas.list({ updatedAt: { gte: '2026-01-01' } }),
    // @ts-expect-error channels have no status to filter by
    client.channels.list({ status: ['open'] }),
    // @ts-expect-error messages are listed by conversation
    client.conversations.messages.list({ limit: 20 }),
    // @ts-expect-error an id is a string
    client.tickets.retrieve(1),
    // @ts-expect-error Q&As are not retrieved one by one
    client.qas.retrieve,
    // @ts-expect-error the API is read-only
    client.tickets.update,
    // @ts-expect-error threads are exported or not
    exportChanges({ client, threads: 'all' }),
  ] as unknown[];
}

/** With exact optional properties, a program may pass undefined parameters, or null as its first cursor. */
export const optionalParameters = (
  client: Client,
  { cursor, limit }: { cursor: string | undefined; limit: number | undefined },
) =>
  [cursor, null].map((startingAfter) =>
    client.tickets.list({ startingAfter, limit, status: undefined, createdAt: undefined }),
  );

/** The types that the compiler must see in responses. */
export async function uses(client: Client): Promise<[TicketItem['status'], string | null, Message[], Date]> {
  const ticket = await client.tickets.retrieve('ti_1');
  const channel = await client.channels.retrieve('chan_1');
  if (channel.data.type === 'form') void channel.data.config.fields;
  // @ts-expect-error a channel of any type has no heading
  void channel.data.config.title;
  // @ts-expect-error the conversations of a listed ticket are references
  void (await client.tickets.list()).data[0]?.conversations[0]?.status;
  // Codes and values of later releases must compile.
  const code: ErrorCode = 'ticket_gone';
  if (ticket.data.status === 'of a later release') void code;
  for await (const batch of exportChanges({ client, threads: true })) {
    if ('ticket' in batch) void batch.ticket.title;
    // @ts-expect-error a thread that is gone has no messages
    else void batch.messages.length;
  }
  const page = await client.conversations.messages.list('conv_1', { limit: 20 });
  return [ticket.data.status, page.nextCursor, page.data, ticket.dataAsOf];
}
