import { createServer } from 'node:http';
import {
  presentConversationHead,
  presentEmbeddedMessage,
} from '../../../services/api/resources/conversations/presenter.ts';
import { presentMessageItem } from '../../../services/api/resources/messages.ts';
import { presentTicket, presentTicketItem } from '../../../services/api/resources/tickets/presenter.ts';
import type { ConversationDocument } from '../../../shared/documents/conversation.ts';
import type { MessageDocument } from '../../../shared/documents/message.ts';
import type { TicketDocument } from '../../../shared/documents/ticket.ts';
import { listen } from '../../../shared/runtime/listen.ts';
import { collectionOf, createMongo, generationDatabase } from '../../../shared/store/connection.ts';

/*
 * The minimal server: Node's HTTP server and the driver. It sends the API's responses from the same index ranges and by
 * the same presenters, but checks no keys or parameters, and writes no log.
 */

const { MONGODB_URL = '', DATABASE_NAME = '' } = process.env;
const client = createMongo(MONGODB_URL, 'bench');
await client.connect();
const database = generationDatabase(client, DATABASE_NAME, 1);

const tickets = collectionOf<TicketDocument>(database, 'ticket');
const conversations = collectionOf<ConversationDocument>(database, 'conversation');
const messages = collectionOf<MessageDocument>(database, 'message');

type Presentable = Parameters<typeof presentConversationHead>[0];

const orgId = 'org_a';
const pageSize = 20;
const projection = { state: 1, joined: 1, byCreated: 1, byUpdated: 1 } as const;
const onePage = { limit: pageSize + 1, batchSize: pageSize + 2 };

async function readTickets() {
  const options = { sort: { byUpdated: -1 }, hint: 'updated', projection, ...onePage } as const;
  const documents = await tickets.find({ orgId }, options).toArray();
  const now = new Date();
  const present = (ticket: TicketDocument) => presentTicketItem(ticket, now);
  return presentPage(documents, '/v1/tickets', present, ({ byUpdated }) => byUpdated);
}

async function readTicket(id: string) {
  const ticket = await tickets.findOne({ _id: id, orgId }, { projection });
  return ticket && presentTicket(ticket, new Date());
}

const threadOrder = { sort: { byCreated: 1 }, hint: 'thread' } as const;

async function readConversation(id: string) {
  const options = { ...threadOrder, projection: { state: 1 } };
  const [conversation, thread] = await Promise.all([
    conversations.findOne({ _id: id, orgId }, { projection }),
    messages.find({ 'state.conversationId': id, orgId }, options).toArray(),
  ]);
  if (!conversation?.state || conversation.state.status === 'archived') return null;
  if (!conversation.joined?.channel) return null;
  const presented = thread.map(({ state }) => presentEmbeddedMessage(state));
  const head = presentConversationHead(conversation as Presentable, conversation.state.status, presented[0]);
  return { ...head, messages: presented };
}

async function readMessages(id: string) {
  const options = { ...threadOrder, projection, ...onePage };
  const [conversation, documents] = await Promise.all([
    conversations.findOne({ _id: id, orgId }, { projection }),
    messages.find({ 'state.conversationId': id, orgId }, options).toArray(),
  ]);
  const url = `/v1/conversations/${id}/messages`;
  return conversation && presentPage(documents, url, presentMessageItem, ({ byCreated }) => byCreated);
}

function presentPage<T>(
  documents: T[],
  url: string,
  present: (item: T) => unknown,
  sortKey: (item: T) => unknown,
) {
  const items = documents.slice(0, pageSize);
  const hasMore = documents.length > pageSize;
  const lastItem = items.at(-1);
  const cursor = (item: T) => Buffer.from(JSON.stringify([1, sortKey(item)])).toString('base64url');
  return {
    object: 'list',
    data: items.map(present),
    hasMore,
    nextCursor: hasMore && lastItem ? cursor(lastItem) : null,
    url,
  };
}

const readPath = (path: string): Promise<unknown> => {
  const [, , resource, id = '', subresource] = path.split('/');
  if (resource === 'tickets') return id ? readTicket(id) : readTickets();
  return subresource ? readMessages(id) : readConversation(id);
};

const server = createServer((request, response) => {
  void readPath(request.url ?? '').then((body) => {
    const text = JSON.stringify(body);
    response.writeHead(body === null ? 404 : 200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
  });
});
const { port } = await listen(server, '127.0.0.1', 0);
// The benchmark reads the port from this line, which the API logs in the same form.
process.stdout.write(`${JSON.stringify({ level: 'info', msg: 'listening', port })}\n`);
process.once('SIGTERM', () => process.exit(0));
