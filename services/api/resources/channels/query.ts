import type { ChannelDocument, ChannelType } from '../../../../shared/documents/channel.ts';
import { keyRange } from '../../paging/key-range.ts';
import type { PageQuery } from '../../paging/page-query.ts';
import type { StoreReader } from '../../store/reader.ts';
import { findById } from '../find-by-id.ts';

/** The channels after a sort key; the first ones for null. Archived channels have no sort key, so they are left out. */
export const channelPageQuery = ({
  orgId,
  type,
  limit,
  after,
}: {
  orgId: string;
  type?: ChannelType | undefined;
  limit: number;
  after: string | null;
}): PageQuery => ({
  kind: 'channel',
  within: { orgId, ...(type ? { 'state.type': type } : {}) },
  field: 'byCreated',
  direction: 'ascending',
  range: keyRange({ from: null, until: null }, { after, direction: 'ascending' }),
  hint: type ? 'typeCreated' : 'created',
  limit,
});

export const findChannel = (store: StoreReader, id: string) =>
  findById<ChannelDocument>(store, 'channel', id);
