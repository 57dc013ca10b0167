import { createHash } from 'node:crypto';
import fastify, { type FastifyReply } from 'fastify';
import { collectionOf } from '../../../../shared/store/connection.ts';
import { announce, database, readConversation, readMessages, readTicket, readTickets } from './read.ts';

/** The same endpoints in Fastify, with cached API keys, validated queries and a log. */
const app = fastify({ logger: { level: 'info' } });

const keys = new Map<string, { orgId: string; untilMs: number }>();
const keyLifetimeMs = 5_000;

app.addHook('onRequest', async (request, reply) => {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
  const hash = createHash('sha256').update(token).digest('hex');
  const known = keys.get(hash);
  if (known && known.untilMs > Date.now()) return;
  const key = await collectionOf(database, 'apiKey').findOne({ 'state.tokenSha256': hash });
  if (!key) return reply.code(401).send({ error: { code: 'invalid_api_key' } });
  keys.set(hash, { orgId: String(key.orgId), untilMs: Date.now() + keyLifetimeMs });
});

const listQuery = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    startingAfter: { type: 'string', maxLength: 2_000 },
    sort: { enum: ['createdAt', '-createdAt', 'updatedAt', '-updatedAt'] },
  },
};
const params = { type: 'object', properties: { id: { type: 'string', maxLength: 256 } } };
const found = (reply: FastifyReply, body: unknown) =>
  body === null ? reply.code(404).send({ error: { code: 'not_found' } }) : body;
type ById = { Params: { id: string } };

app.get('/v1/tickets', { schema: { querystring: listQuery } }, () => readTickets());
app.get<ById>('/v1/tickets/:id', { schema: { params } }, async ({ params: { id } }, reply) =>
  found(reply, await readTicket(id)),
);
app.get<ById>('/v1/conversations/:id', { schema: { params } }, async ({ params: { id } }, reply) =>
  found(reply, await readConversation(id)),
);
app.get<ById>(
  '/v1/conversations/:id/messages',
  { schema: { params, querystring: listQuery } },
  async ({ params: { id } }, reply) => found(reply, await readMessages(id)),
);
await app.listen({ port: 0, host: '127.0.0.1' });
announce(app.server.address());
