import { oldestFirst } from '../../paging/key-range.ts';
import type { PageQuery, PageRequest } from '../../paging/page-query.ts';

export const qaPageQuery = ({ orgId, limit, after }: PageRequest): PageQuery => ({
  ...oldestFirst({ kind: 'qa', within: { orgId }, hint: 'created', after }),
  limit,
});
