import type { Db } from 'mongodb';
import type { ChannelDocument, ChannelType } from '../../../../shared/documents/channel.ts';
import { keyRange } from '../../paging/key-range.ts';
import type { PageQuery } from '../../paging/page-query.ts';
import { findOwn } from '../find-own.ts';

/** The channels behind `after`, a sort key; archived ones have none and so are not met. */
export const channelPageQuery = (
  orgId: string,
  { limit, type }: { limit: number; type?: ChannelType | undefined },
  after: string | null,
): PageQuery => ({
  kind: 'channel',
  filter: {
    orgId,
    ...(type ? { 'own.type': type } : {}),
    byCreated: keyRange({ from: null, until: null }, { after, direction: 'ascending' }),
  },
  sort: { byCreated: 1 },
  hint: type ? 'typeCreated' : 'created',
  limit,
});

export const findChannel = (database: Db, orgId: string, id: string) =>
  findOwn<ChannelDocument>(database, 'channel', { orgId, id });
