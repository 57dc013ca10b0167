import { expiredUpTo } from '../../../../shared/documents/retention.ts';
import { keyAbove } from '../../paging/date-range.ts';
import { keyRange } from '../../paging/key-range.ts';
import type { PageQuery } from '../../paging/page-query.ts';
import type { RangeQuery } from '../../paging/range-query.ts';
import type { Retention } from '../conversations/query.ts';

/** A conversation's messages as readers may see them; `from` is the least sort key of what has not expired. */
export type Thread = { orgId: string; conversationId: string; from: string | null };

/** A message is retained for as many days as its channel says, after its own `createdAt`. */
export function threadOf(
  { orgId, conversationId }: Omit<Thread, 'from'>,
  { dataRetentionDays }: Retention,
  now: Date,
): Thread {
  const expired = expiredUpTo(dataRetentionDays, now);
  return { orgId, conversationId, from: expired && keyAbove(expired) };
}

/** The messages of a thread behind `after`, a sort key; all of them for null. */
export const threadQuery = ({ orgId, conversationId, from }: Thread, after: string | null): RangeQuery => ({
  kind: 'message',
  within: { 'state.conversationId': conversationId, orgId },
  field: 'byCreated',
  direction: 'ascending',
  range: keyRange({ from, until: null }, { after, direction: 'ascending' }),
  hint: 'thread',
});

export const messagePageQuery = (thread: Thread, limit: number, after: string | null): PageQuery => ({
  ...threadQuery(thread, after),
  limit,
});
