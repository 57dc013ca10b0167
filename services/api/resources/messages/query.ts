import { keyRange } from '../../paging/key-range.ts';
import type { PageQuery } from '../../paging/page-query.ts';

const unbounded = { from: null, until: null };

/** The messages of a thread behind `after`, a sort key; all of them for null. */
export const threadFilter = (orgId: string, conversationId: string, after: string | null) => ({
  orgId,
  'own.conversationId': conversationId,
  byCreated: keyRange(unbounded, { after, direction: 'ascending' }),
});

export const messagePageQuery = (
  orgId: string,
  conversationId: string,
  limit: number,
  after: string | null,
): PageQuery => ({
  kind: 'message',
  filter: threadFilter(orgId, conversationId, after),
  sort: { byCreated: 1 },
  hint: 'thread',
  limit,
});
