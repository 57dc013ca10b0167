import type { Db } from 'mongodb';
import type { ConversationDocument } from '../../../../shared/documents/conversation.ts';
import type { Kind } from '../../../../shared/documents/document.ts';
import type { MessageDocument } from '../../../../shared/documents/message.ts';
import { resources } from '../../../../shared/documents/resources.ts';
import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import { createMongo, generationDatabase } from '../../../../shared/store/connection.ts';
import {
  presentConversationHead,
  presentEmbeddedMessage,
} from '../../../../services/api/resources/conversations/presenter.ts';
import { presentMessageItem } from '../../../../services/api/resources/messages/presenter.ts';
import { presentTicket, presentTicketItem } from '../../../../services/api/resources/tickets/presenter.ts';

/** The organization of every request. */
const orgId = 'org_a';
export const pageSize = 20;

type Presentable = Parameters<typeof presentConversationHead>[0];

/** The store that the environment of a baseline names. */
export function openStore() {
  const { MONGODB_URL = '', DATABASE_NAME = '' } = process.env;
  const client = createMongo(MONGODB_URL, 'bench');
  return { client, database: generationDatabase(client, DATABASE_NAME, 1) };
}

const of = (database: Db, kind: Kind) => database.collection(resources[kind].collection);
const projection = { state: 1, joined: 1, byCreated: 1, byUpdated: 1 } as const;

/** The API's answers, from the same index ranges and by the same presenters, without its other work. */
export const readTickets = async (database: Db) => {
  const found = await of(database, 'ticket')
    .find(
      { orgId },
      { sort: { byUpdated: -1 }, hint: 'updated', limit: pageSize + 1, batchSize: pageSize + 2 },
    )
    .project<TicketDocument>(projection)
    .toArray();
  const now = new Date();
  return page(
    found,
    '/v1/tickets',
    (ticket) => presentTicketItem(ticket, now),
    ({ byUpdated }) => byUpdated,
  );
};

export const readTicket = async (database: Db, id: string) => {
  const ticket = await of(database, 'ticket').findOne({ _id: id, orgId } as object, { projection });
  return ticket && presentTicket(ticket as unknown as TicketDocument, new Date());
};

const thread = (database: Db, conversationId: string, limit?: number) =>
  of(database, 'message').find(
    { 'state.conversationId': conversationId, orgId },
    {
      ...{ sort: { byCreated: 1 }, hint: 'thread' },
      ...(limit !== undefined && { limit: limit + 1, batchSize: limit + 2 }),
    },
  );

const readHead = async (database: Db, id: string) =>
  (await of(database, 'conversation').findOne({ _id: id, orgId } as object, {
    projection,
  })) as ConversationDocument | null;

export const readConversation = async (database: Db, id: string) => {
  const [found, messages] = await Promise.all([
    readHead(database, id),
    thread(database, id).project<MessageDocument>({ state: 1 }).toArray(),
  ]);
  if (!found || found.state.status === 'archived' || !found.joined.channel) return null;
  const presented = messages.map(({ state: message }) => presentEmbeddedMessage(message));
  const head = presentConversationHead(found as Presentable, found.state.status, presented[0]);
  return { ...head, messages: presented };
};

export const readMessages = async (database: Db, id: string) => {
  const [found, messages] = await Promise.all([
    readHead(database, id),
    thread(database, id, pageSize).project<MessageDocument>(projection).toArray(),
  ]);
  if (!found) return null;
  const path = `/v1/conversations/${id}/messages`;
  return page(messages, path, presentMessageItem, ({ byCreated }) => byCreated);
};

function page<T>(
  found: T[],
  url: string,
  present: (item: T) => unknown,
  keyOf: (item: T) => string | undefined,
) {
  const items = found.slice(0, pageSize);
  const hasMore = found.length > pageSize;
  const last = items.at(-1);
  const nextCursor =
    hasMore && last ? Buffer.from(JSON.stringify([1, keyOf(last)])).toString('base64url') : null;
  return { object: 'list', data: items.map(present), hasMore, nextCursor, url };
}

/** Logs the port, as the API does, so that the benchmark can send requests. */
export const announce = (port: number) =>
  void process.stdout.write(`${JSON.stringify({ level: 'info', msg: 'listening', port })}\n`);
