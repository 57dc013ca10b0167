import { expiredUpTo } from '../../../../shared/documents/retention.ts';
import { keyAbove } from '../../paging/date-range.ts';
import { keyRange } from '../../paging/key-range.ts';
import type { PageQuery } from '../../paging/page-query.ts';
import type { RangeQuery } from '../../paging/range-query.ts';
import type { Retention } from '../conversations/query.ts';

/** The visible messages of a conversation; `from` is the lowest sort key that has not expired. */
export type Thread = { orgId: string; conversationId: string; from: string | null };

/** A message expires as many days after its own `createdAt` as its channel says. */
export function threadOf(
  { orgId, conversationId }: Omit<Thread, 'from'>,
  { dataRetentionDays }: Retention,
  now: Date,
): Thread {
  const expired = expiredUpTo(dataRetentionDays, now);
  return { orgId, conversationId, from: expired && keyAbove(expired) };
}

/** The messages of a thread after a sort key; all of them for null. */
export const threadQuery = ({ orgId, conversationId, from }: Thread, after: string | null): RangeQuery => ({
  kind: 'message',
  within: { 'state.conversationId': conversationId, orgId },
  field: 'byCreated',
  direction: 'ascending',
  range: keyRange({ from, until: null }, { after, direction: 'ascending' }),
  hint: 'thread',
});

export const messagePageQuery = ({
  thread,
  limit,
  after,
}: {
  thread: Thread;
  limit: number;
  after: string | null;
}): PageQuery => ({ ...threadQuery(thread, after), limit });
