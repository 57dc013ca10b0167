import { attempt, attemptRaw, type Request } from './attempt.ts';
import { listing, type Listing } from './listing.ts';
import { parseOptions, parseRequestOptions, type ClientOptions, type SentOptions } from './options.ts';
import { withRetries, type RetryDeps } from './retry.ts';
import { sleep } from './signal.ts';
import type {
  Answer,
  Body,
  Channel,
  ChannelItem,
  ChannelListParams,
  Conditional,
  Conversation,
  Message,
  MessageListParams,
  NotModified,
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

type Retrieve<Data> = {
  (id: string, options: Conditional): Promise<Answer<Data> | NotModified>;
  (id: string, options?: RequestOptions): Promise<Answer<Data>>;
};

type MessageList = Listing<Message, MessageListParams>;

export type Client = {
  tickets: Listing<TicketItem, TicketListParams> & { retrieve: Retrieve<Ticket> };
  conversations: {
    /** With all messages, which are held in memory. `messages.all` holds only one page of them. */
    retrieve: Retrieve<Conversation>;
    messages: {
      list: {
        (
          id: string,
          params: MessageListParams | undefined,
          options: Conditional,
        ): Promise<Page<Message> | NotModified>;
        (id: string, params?: MessageListParams, options?: RequestOptions): Promise<Page<Message>>;
      };
      pages: (id: string, ...rest: Parameters<MessageList['pages']>) => ReturnType<MessageList['pages']>;
      all: (id: string, ...rest: Parameters<MessageList['all']>) => ReturnType<MessageList['all']>;
    };
  };
  channels: Listing<ChannelItem, ChannelListParams> & { retrieve: Retrieve<Channel> };
  qas: Listing<Qa, QaListParams>;
  /**
   * Returns the platform's `Response` to a path, such as `/v1/tickets?limit=5`, with its body unread: to stream the body,
   * or to call an endpoint that is newer than this client. Errors and retries are as elsewhere. `timeoutMs` covers only
   * the time until the headers.
   */
  raw: (path: `/v1/${string}`, options?: SentOptions) => Promise<Response>;
};

/** Creates a client of the API. It needs no closing. Throws a `TypeError` for an invalid option. */
export const createClient = (options: ClientOptions): Client =>
  createClientWith({ sleep, random: Math.random, nowMs: Date.now }, options);

/** Creates a client with its own wait, random source and clock, for tests. */
export function createClientWith(deps: RetryDeps, options: ClientOptions): Client {
  const { get, raw } = createTransport(deps, options);
  const retrieve = <P extends Path>(path: P) =>
    (async (id, requestOptions = {}) => {
      const { body, meta } = await get(path, id, {}, requestOptions);
      return body === null
        ? { data: null, notModified: true, ...meta }
        : { data: body, notModified: false, ...meta };
    }) as Retrieve<Body<P>>;
  const list =
    <P extends ListPath>(path: P, id: string | null = null) =>
    async (
      query: Query<P>,
      requestOptions: SentOptions,
    ): Promise<Page<Body<P>['data'][number]> | NotModified> => {
      const { body, meta } = await get(path, id, query, requestOptions);
      if (body === null) return { data: null, notModified: true, ...meta };
      const { data, hasMore, nextCursor } = body;
      return { data, hasMore, nextCursor, notModified: false, ...meta };
    };
  const messages = (conversationId: string) =>
    listing<Message, MessageListParams>(list('/v1/conversations/{id}/messages', conversationId));
  return {
    tickets: { ...listing(list('/v1/tickets')), retrieve: retrieve('/v1/tickets/{id}') },
    conversations: {
      retrieve: retrieve('/v1/conversations/{id}'),
      messages: {
        list: (id: string, ...rest: Parameters<MessageList['list']>) => messages(id).list(...rest),
        pages: (id, ...rest) => messages(id).pages(...rest),
        all: (id, ...rest) => messages(id).all(...rest),
      },
    },
    channels: { ...listing(list('/v1/channels')), retrieve: retrieve('/v1/channels/{id}') },
    qas: listing(list('/v1/knowledge/qa')),
    raw,
  };
}

type ListPath = { [P in Path]: Body<P> extends { object: 'list' } ? P : never }[Path];

/** The key is in a closure and in no property, so that printing a client does not reveal it. */
function createTransport(deps: RetryDeps, options: ClientOptions) {
  const { baseUrl, ...settings } = parseOptions(options);
  const fetch = options.fetch ?? globalThis.fetch;
  const { nowMs } = deps;
  const send = <Result>(
    path: string,
    url: string,
    sent: SentOptions,
    ask: (request: Request) => Promise<Result>,
  ): Promise<Result> => {
    const { headers, timeoutMs, retries } = parseRequestOptions(settings, sent);
    const policy = { ...settings, retries };
    const request = { url, headers, timeoutMs, signal: sent.signal };
    return withRetries(deps, policy, { path, signal: sent.signal }, () => ask(request));
  };
  return {
    get: async <P extends Path>(
      path: P,
      id: string | null,
      query: Query<P> | Record<string, never>,
      sent: SentOptions,
    ) => {
      const url = requestUrl(baseUrl, path, id, query);
      const { body, meta } = await send(path, url, sent, (request) => attempt({ fetch, nowMs }, request));
      return { body: body as Body<P> | null, meta };
    },
    raw: async (path: `/v1/${string}`, sent: SentOptions = {}) => {
      // Another prefix could change the host of the URL, and that host would receive the key.
      if (!path.startsWith('/v1/')) throw new TypeError('path must begin with /v1/');
      return send(path, `${baseUrl}${path}`, sent, (request) => attemptRaw({ fetch, nowMs }, request));
    },
  };
}
