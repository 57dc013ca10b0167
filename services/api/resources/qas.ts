import { z } from 'zod';
import type { QaDocument } from '../../../shared/documents/qa.ts';
import { noParameters } from '../http/parameters.ts';
import { defineRoute } from '../http/route.ts';
import { oldestFirst } from '../paging/key-range.ts';
import { listEnvelope, listSchema } from '../paging/list-envelope.ts';
import { answerPage, readListPage } from '../paging/list-page.ts';
import { pageParameters } from '../paging/page-parameters.ts';
import { type PageQuery, type PageRequest, readPage } from '../paging/page-query.ts';
import { component, millisecondsSchema, toMilliseconds } from './fields.ts';

const qaSchema = component('Qa', 'A question and its answer in the knowledge base.', {
  id: z.string().describe('Opaque id of the Q&A.'),
  object: z.literal('qa').describe('Always `qa`.'),
  question: z.string().describe('The primary phrasing of the question.'),
  questionVariations: z
    .array(z.string())
    .describe('Alternative phrasings in alphabetical order; empty if there is only the primary phrasing.'),
  answer: z.string().describe('The answer.'),
  agentId: z
    .string()
    .startsWith('agent_')
    .nullable()
    .describe('Id of the AI agent that uses the Q&A; null if every agent of the organization uses it.'),
  createdAt: millisecondsSchema.describe('When the Q&A was created.'),
  updatedAt: millisecondsSchema.describe('When the Q&A was last updated.'),
});
const qaListSchema = listSchema('QaList', qaSchema);

type QaItem = z.output<typeof qaSchema>;

const example: QaItem = {
  id: 'qa_01K0ZXC5B7',
  object: 'qa',
  question: 'How do I change my billing address?',
  questionVariations: ['Can I update my address?', 'Where is my billing address?'],
  answer: 'Open Settings, then Billing, and edit the address.',
  agentId: null,
  createdAt: '2025-11-03T08:00:00.000Z',
  updatedAt: '2026-01-12T16:20:31.250Z',
};

const presentQa = ({ state }: Pick<QaDocument, 'state'>): QaItem => ({
  id: state.id,
  object: 'qa',
  question: state.question,
  questionVariations: state.questionVariations,
  answer: state.answer,
  agentId: state.agentId ?? null,
  createdAt: toMilliseconds(state.createdAt),
  updatedAt: toMilliseconds(state.updatedAt),
});

export const qaPageQuery = ({ orgId, limit, after }: PageRequest): PageQuery => ({
  ...oldestFirst({ kind: 'qa', equals: { orgId }, hint: 'created', after }),
  limit,
});

export const listQas = defineRoute({
  path: '/v1/knowledge/qa',
  operationId: 'listQas',
  tag: 'Knowledge',
  summary: 'List the Q&As of the knowledge base',
  description:
    'Returns the Q&As of the organization by creation time and id, oldest first. All pages together are a complete export.',
  params: noParameters,
  query: z.object(pageParameters),
  response: qaListSchema,
  example: listEnvelope('/v1/knowledge/qa', [example]),
  errors: ['invalid_cursor'],
  handler: async (scope, { query: { limit, startingAfter } }) => {
    const { orgId, store } = scope;
    const page = await readListPage(scope, {
      kind: 'qa',
      cursorScope: { list: 'qas', sort: 'createdAt', filters: null },
      startingAfter,
      read: (after) => readPage<QaDocument>(store, qaPageQuery({ orgId, limit, after })),
      present: (qa) => presentQa(qa),
    });
    return answerPage(page);
  },
});
