import type { QaDocument } from '../../../../shared/documents/qa.ts';
import { noParams } from '../../http/parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { listHandler } from '../../paging/list-handler.ts';
import { readPage } from '../../paging/page-query.ts';
import { qaListExample } from './examples.ts';
import { presentQa } from './presenter.ts';
import { qaPageQuery } from './query.ts';
import { qaListQuery, qaListSchema } from './schema.ts';

const listQas = defineRoute({
  method: 'GET',
  path: '/v1/knowledge/qa',
  operationId: 'listQas',
  tag: 'Knowledge',
  summary: 'Lists the Q&As of the knowledge base',
  description:
    'Returns the Q&As by creation time and id, oldest first. Reading all pages gives a complete export.',
  params: noParams,
  query: qaListQuery,
  response: qaListSchema,
  example: qaListExample,
  errors: ['invalid_cursor'],
  handler: listHandler(({ orgId, store }, { query: { limit } }) => ({
    cursorScope: { list: 'qas', sort: 'createdAt', filters: null },
    read: (after) => readPage<QaDocument>(store, qaPageQuery({ orgId, limit, after })),
    present: presentQa,
  })),
});

export const qaRoutes: Route[] = [listQas];
