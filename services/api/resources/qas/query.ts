import { keyRange } from '../../paging/key-range.ts';
import type { PageQuery } from '../../paging/page-query.ts';

/** The Q&As after a sort key; the first ones for null. */
export const qaPageQuery = ({
  orgId,
  limit,
  after,
}: {
  orgId: string;
  limit: number;
  after: string | null;
}): PageQuery => ({
  kind: 'qa',
  within: { orgId },
  field: 'byCreated',
  direction: 'ascending',
  range: keyRange({ from: null, until: null }, { after, direction: 'ascending' }),
  hint: 'created',
  limit,
});
