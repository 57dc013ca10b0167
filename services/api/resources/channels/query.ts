import type { ChannelType } from '../../../../shared/documents/channel.ts';
import { oldestFirst } from '../../paging/key-range.ts';
import type { PageQuery, PageRequest } from '../../paging/page-query.ts';

type ChannelPage = PageRequest & { type?: ChannelType | undefined };

/** Archived channels have no sort key, so they are left out. */
export const channelPageQuery = ({ orgId, type, limit, after }: ChannelPage): PageQuery => {
  const within = { orgId, ...(type ? { 'state.type': type } : {}) };
  return {
    ...oldestFirst({ kind: 'channel', within, hint: type ? 'typeCreated' : 'created', after }),
    limit,
  };
};
