import { attempt } from './attempt.ts';
import { listing, type Listing } from './listing.ts';
import { parseOptions, wholeNumber, type ClientOptions } from './options.ts';
import { withRetries, type RetryDeps } from './retry.ts';
import { sleep } from './signal.ts';
import type {
  Answer,
  Body,
  Channel,
  ChannelItem,
  ChannelListParams,
  Conversation,
  Message,
  MessageListParams,
  Meta,
  Page,
  Path,
  Qa,
  QaListParams,
  Query,
  RequestOptions,
  Ticket,
  TicketItem,
  TicketListParams,
} from './types.ts';
import { requestUrl } from './url.ts';

type Retrieve<Data> = (id: string, options?: RequestOptions) => Promise<Answer<Data>>;

export type Client = {
  tickets: Listing<TicketItem, TicketListParams> & { retrieve: Retrieve<Ticket> };
  conversations: {
    /** With every message; the whole thread is held in memory. `messages.all` holds one page of it. */
    retrieve: Retrieve<Conversation>;
    messages: {
      [Method in keyof Listing<Message, MessageListParams>]: (
        conversationId: string,
        ...rest: Parameters<Listing<Message, MessageListParams>[Method]>
      ) => ReturnType<Listing<Message, MessageListParams>[Method]>;
    };
  };
  channels: Listing<ChannelItem, ChannelListParams> & { retrieve: Retrieve<Channel> };
  qas: Listing<Qa, QaListParams>;
};

/** A client of the API. It holds no connection and needs no closing. Fails with a `TypeError` on a bad option. */
export const createClient = (options: ClientOptions): Client =>
  createClientWith({ sleep, random: Math.random, nowMs: Date.now }, options);

/** The same with its waits, chance and clock given, for tests. */
export function createClientWith(deps: RetryDeps, options: ClientOptions): Client {
  const get = createGet(deps, options);
  const retrieve =
    <P extends Path>(path: P): Retrieve<Body<P>> =>
    async (id, requestOptions) => {
      const { body, meta } = await get(path, id, {}, requestOptions);
      return { data: body, ...meta };
    };
  const list =
    <P extends ListPath>(path: P, id: string | null = null) =>
    async (query: Query<P>, requestOptions?: RequestOptions): Promise<Page<Body<P>['data'][number]>> => {
      const { body, meta } = await get(path, id, query, requestOptions);
      return { data: body.data, hasMore: body.hasMore, nextCursor: body.nextCursor, ...meta };
    };
  const messages = (conversationId: string) =>
    listing(list('/v1/conversations/{id}/messages', conversationId));
  return {
    tickets: { ...listing(list('/v1/tickets')), retrieve: retrieve('/v1/tickets/{id}') },
    conversations: {
      retrieve: retrieve('/v1/conversations/{id}'),
      messages: {
        list: (id, ...rest) => messages(id).list(...rest),
        pages: (id, ...rest) => messages(id).pages(...rest),
        all: (id, ...rest) => messages(id).all(...rest),
      },
    },
    channels: { ...listing(list('/v1/channels')), retrieve: retrieve('/v1/channels/{id}') },
    qas: listing(list('/v1/knowledge/qa')),
  };
}

type ListPath = { [P in Path]: Body<P> extends { object: 'list' } ? P : never }[Path];

/** The key is in here and in no property, so that nothing which prints a client shows it. */
function createGet(deps: RetryDeps, options: ClientOptions) {
  const { baseUrl, headers, ...settings } = parseOptions(options);
  const fetch = options.fetch ?? globalThis.fetch;
  return async <P extends Path>(
    path: P,
    id: string | null,
    query: Query<P> | Record<string, never>,
    { signal, timeoutMs = settings.timeoutMs }: RequestOptions = {},
  ): Promise<{ body: Body<P>; meta: Meta }> => {
    wholeNumber('timeoutMs', timeoutMs, 1);
    const request = { url: requestUrl(baseUrl, path, id, query), headers, timeoutMs, signal };
    const ask = () => attempt({ fetch, nowMs: deps.nowMs }, request);
    const { body, meta } = await withRetries(deps, settings, { path, signal }, ask);
    return { body: body as Body<P>, meta };
  };
}
