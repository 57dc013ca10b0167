import type { ChannelDocument, ChannelType } from '../../../../shared/documents/channel.ts';
import { ApiError } from '../../http/api-error.ts';
import { anyIdParameter, noParameters } from '../../http/parameters.ts';
import { defineRoute } from '../../http/route.ts';
import { oldestFirst } from '../../paging/key-range.ts';
import { answerPage, readListPage } from '../../paging/list-page.ts';
import { type PageQuery, type PageRequest, readPage } from '../../paging/page-query.ts';
import { readStored } from '../../store/readable.ts';
import { findById } from '../find-by-id.ts';
import { presentChannel, presentChannelItem } from './presenter.ts';
import {
  channelExample,
  channelListExample,
  channelListQuery,
  channelListSchema,
  channelSchema,
} from './schema.ts';

export type ChannelDeps = {
  /** Returns the current time. A mailbox counts as stalled by its age at that time. */
  now: () => Date;
  /** The API shows this name in place of the service's own domain, from which mail may be sent. */
  brand: string;
};

/** The query of a page. Archived channels have no sort key, so the list leaves them out. */
export const channelPageQuery = ({
  orgId,
  type,
  limit,
  after,
}: PageRequest & { type?: ChannelType | undefined }): PageQuery => {
  const range = type
    ? oldestFirst({ kind: 'channel', equals: { orgId, 'state.type': type }, hint: 'typeCreated', after })
    : oldestFirst({ kind: 'channel', equals: { orgId }, hint: 'created', after });
  return { ...range, limit };
};

export const listChannels = ({ now }: ChannelDeps) =>
  defineRoute({
    path: '/v1/channels',
    operationId: 'listChannels',
    tag: 'Channels',
    summary: 'List channels',
    description: 'Returns the channels of the organization, oldest first, without archived channels.',
    params: noParameters,
    query: channelListQuery,
    response: channelListSchema,
    example: channelListExample,
    errors: ['invalid_cursor'],
    handler: async (scope, { query: { type, limit, startingAfter } }) => {
      const { orgId, store } = scope;
      const page = await readListPage(scope, {
        kind: 'channel',
        cursorScope: { list: 'channels', sort: 'createdAt', filters: type ?? null },
        startingAfter,
        read: (after) => readPage<ChannelDocument>(store, channelPageQuery({ orgId, type, limit, after })),
        present: (channel) => presentChannelItem(channel, now()),
      });
      return answerPage(page);
    },
  });

export const retrieveChannel = ({ now, brand }: ChannelDeps) =>
  defineRoute({
    path: '/v1/channels/:id',
    operationId: 'retrieveChannel',
    tag: 'Channels',
    summary: 'Retrieve a channel',
    description:
      'Returns the channel with its settings and the configuration of its type, also if the channel is archived.',
    params: anyIdParameter(channelExample.id),
    query: noParameters,
    response: channelSchema,
    example: channelExample,
    errors: ['channel_not_found'],
    handler: async ({ store }, { params }) => {
      const channel = await findById<ChannelDocument>(store, 'channel', params.id);
      if (!channel) throw new ApiError('channel_not_found');
      const present = () => presentChannel(channel, { now: now(), brand });
      return { body: readStored('channel', params.id, present) };
    },
  });
