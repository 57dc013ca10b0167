import { attempt } from './attempt.ts';
import { type ClientOptions, parseOptions, parseRequestOptions } from './options.ts';
import { createRetries, type RetryDeps } from './retry.ts';
import type { Answer, ListRequest, Page, RequestOptions } from './types.ts';
import { requestUrl } from './url.ts';
import { type Listed, type Walk, walkOn, walkStart } from './walk.ts';

/** The two kinds of request that the generated methods send. */
export type Requests = {
  /** Requests the pages of a list when they are read. */
  list: <Item extends Listed>(
    path: string,
    id: string | null,
    params?: object,
    options?: RequestOptions,
  ) => ListRequest<Item>;
  /** Requests one item at once. */
  retrieve: <Data>(path: string, id: string, options?: RequestOptions) => Promise<Answer<Data>>;
};

type ListBody<Item> = { data: Item[]; hasMore: boolean; nextCursor: string | null; url: string };
type Ask<Item> = (params: object) => Promise<Answer<ListBody<Item>>>;

/** The key is in a closure and in no property, so that printing a client does not reveal it. */
export function createRequests(clock: RetryDeps, options: ClientOptions): Requests {
  const { baseUrl, retryForMs, ...settings } = parseOptions(options);
  const fetch = options.fetch ?? globalThis.fetch;
  const withRetries = createRetries(clock);
  /** Sends a request of a path with its id and parameters. */
  const get = async <Body>(
    path: string,
    id: string | null,
    params: object,
    { signal, ...sent }: RequestOptions,
  ) => {
    const url = requestUrl(baseUrl, path, id, params);
    const { headers, timeoutMs, retries } = parseRequestOptions(settings, sent);
    const request = { url, headers, timeoutMs, signal };
    return (await withRetries({ retries, retryForMs, signal }, () =>
      attempt(fetch, request),
    )) as Answer<Body>;
  };
  return {
    list: <Item extends Listed>(
      path: string,
      id: string | null,
      params: object = {},
      sent: RequestOptions = {},
    ) => listRequest<Item>(structuredClone(params), (query) => get(path, id, query, sent)),
    retrieve: <Data>(path: string, id: string, sent: RequestOptions = {}) => get<Data>(path, id, {}, sent),
  };
}

/** `params` must stay as they are: a cursor is valid for one sort and one set of filters. */
function listRequest<Item extends Listed>(
  params: { startingAfter?: string | null },
  ask: Ask<Item>,
): ListRequest<Item> {
  const read = async (startingAfter: string | null, before: Walk): Promise<Page<Item>> => {
    const { data: body, ...meta } = await ask({ ...params, startingAfter: startingAfter ?? undefined });
    const { data, hasMore, nextCursor, url: path } = body;
    const walk = walkOn(before, { ...meta, path, startingAfter, data, nextCursor });
    const page: Page<Item> = {
      ...meta,
      data,
      hasMore,
      nextCursor,
      nextPage: async () => (nextCursor === null ? null : read(nextCursor, walk)),
      [Symbol.asyncIterator]: () => itemsFrom(async () => page),
    };
    return page;
  };
  const first = () => read(params.startingAfter ?? null, walkStart);
  let sent: Promise<Page<Item>> | undefined;
  const sentOnce = () => (sent ??= first());
  return {
    [Symbol.toStringTag]: 'ListRequest',
    then: (onPage, onError) => sentOnce().then(onPage, onError),
    catch: (onError) => sentOnce().catch(onError),
    finally: (onEnd) => sentOnce().finally(onEnd),
    pages: () => pagesFrom(first),
    [Symbol.asyncIterator]: () => itemsFrom(first),
  };
}

/**
 * Holds one page at a time: `page` is replaced, and no page refers to another. Requests the first when it is reached.
 */
async function* pagesFrom<Item>(
  first: () => Promise<Page<Item>>,
): AsyncGenerator<Page<Item>, void, undefined> {
  for (let page: Page<Item> | null = await first(); page; page = await page.nextPage()) yield page;
}

async function* itemsFrom<Item>(first: () => Promise<Page<Item>>): AsyncGenerator<Item, void, undefined> {
  for await (const page of pagesFrom(first)) yield* page.data;
}
