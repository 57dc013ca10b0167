import { expiredUpTo } from '../../../../shared/documents/retention.ts';
import { keyAbove } from '../../paging/date-range.ts';
import { oldestFirst, type RangeQuery } from '../../paging/key-range.ts';
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
export const threadQuery = ({ orgId, conversationId, from }: Thread, after: string | null): RangeQuery =>
  oldestFirst({
    kind: 'message',
    within: { 'state.conversationId': conversationId, orgId },
    hint: 'thread',
    after,
    from,
  });
