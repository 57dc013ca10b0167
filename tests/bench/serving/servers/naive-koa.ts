import Router from '@koa/router';
import Koa from 'koa';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { announce, openStore, readConversation, readMessages, readTicket, readTickets } from './read.ts';

/** A first version in Koa: it reads whole arrays, and parses every item with a schema before it sends the answer. */
const { client, database } = openStore();
await client.connect();

const label = z.object({ id: z.string(), name: z.string() });
const nullable = z.string().nullable();
const instant = z.iso.datetime();
const ticket = z.object({
  id: z.string(),
  object: z.literal('ticket'),
  title: z.string(),
  status: z.string(),
  requester: z.object({
    id: z.string(),
    name: nullable,
    email: z.object({ email: z.string(), verified: z.boolean() }).nullable(),
  }),
  tags: z.array(label),
  topics: z.array(label),
  estimatedScore: z.number().nullable(),
  conversations: z.array(z.looseObject({ id: z.string(), role: z.string() })),
  createdAt: instant,
  updatedAt: instant,
});
const message = z.looseObject({
  id: z.string(),
  object: z.literal('message'),
  role: z.string(),
  content: nullable,
  attachments: z.array(z.object({ id: z.string(), filename: z.string() })),
  createdAt: instant,
});
const conversation = z.looseObject({ id: z.string(), title: nullable, messages: z.array(message) });
const listOf = (item: z.ZodType) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    hasMore: z.boolean(),
    nextCursor: nullable,
    url: z.string(),
  });

const router = new Router();
const get = (path: string, schema: z.ZodType, read: (id: string) => Promise<unknown>) =>
  router.get(path, async (context) => {
    const { id = '' } = context.params as { id?: string };
    const body = await read(id);
    context.body = body === null ? null : schema.parse(body);
  });
get('/v1/tickets', listOf(ticket), () => readTickets(database));
get('/v1/tickets/:id', ticket, (id) => readTicket(database, id));
get('/v1/conversations/:id', conversation, (id) => readConversation(database, id));
get('/v1/conversations/:id/messages', listOf(message), (id) => readMessages(database, id));

const server = new Koa()
  .use(router.routes())
  .listen(0, '127.0.0.1', () => announce((server.address() as AddressInfo).port));
process.once('SIGTERM', () => process.exit(0));
