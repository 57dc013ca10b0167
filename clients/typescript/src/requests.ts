import { attempt } from './attempt.ts';
import { type ClientOptions, parseOptions, parseRequestOptions } from './options.ts';
import { createRetries, type RetryDeps } from './retry.ts';
import type { Answer, ListRequest, Page, RequestOptions } from './types.ts';
import { requestUrl } from './url.ts';
import { addPage, emptyWalk, type Listed, type Walk } from './walk.ts';

/** The two kinds of request that the generated methods send. */
export type Requests = {
  /** Requests the pages of a list when they are read. */
  list: <Item extends Listed>(
    path: string,
    id: string | null,
    params?: object,
    options?: RequestOptions,
  ) => ListRequest<Item>;
  /** Requests one item immediately. */
  retrieve: <Data>(path: string, id: string, options?: RequestOptions) => Promise<Answer<Data>>;
};

type ListBody<Item> = { data: Item[]; hasMore: boolean; nextCursor: string | null; url: string };
type RequestPage<Item> = (params: object) => Promise<Answer<ListBody<Item>>>;

/**
 * Creates the functions that the generated methods call. The key is only in their closure, because a printed client
 * would reveal a key in a property.
 */
export function createRequests(clock: RetryDeps, options: ClientOptions): Requests {
  const { baseUrl, retryForMs, ...settings } = parseOptions(options);
  const fetch = options.fetch ?? globalThis.fetch;
  const withRetries = createRetries(clock);
  /** Sends a request of a path with its id and parameters. */
  const get = async <Body>(
    path: string,
    id: string | null,
    params: object,
    { signal, ...requestOptions }: RequestOptions,
  ) => {
    const url = requestUrl(baseUrl, path, id, params);
    const { headers, timeoutMs, retries } = parseRequestOptions(settings, requestOptions);
    const request = { url, headers, timeoutMs, signal };
    const send = () => attempt(fetch, request);
    return (await withRetries({ retries, retryForMs, signal }, send)) as Answer<Body>;
  };
  return {
    list: <Item extends Listed>(
      path: string,
      id: string | null,
      params: object = {},
      requestOptions: RequestOptions = {},
    ) => listRequest<Item>(structuredClone(params), (query) => get(path, id, query, requestOptions)),
    retrieve: <Data>(path: string, id: string, requestOptions: RequestOptions = {}) =>
      get<Data>(path, id, {}, requestOptions),
  };
}

/**
 * Returns a list, which requests its pages when the caller reads them. `params` is a copy that never changes, because a
 * cursor is valid for one sort and one set of filters.
 */
function listRequest<Item extends Listed>(
  params: { startingAfter?: string | null },
  requestPage: RequestPage<Item>,
): ListRequest<Item> {
  const read = async (startingAfter: string | null, previous: Walk): Promise<Page<Item>> => {
    const { data: body, ...meta } = await requestPage({
      ...params,
      startingAfter: startingAfter ?? undefined,
    });
    const { data, hasMore, nextCursor, url: path } = body;
    const walk = addPage(previous, { ...meta, path, startingAfter, data, nextCursor });
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
  const readFirst = () => read(params.startingAfter ?? null, emptyWalk);
  let requested: Promise<Page<Item>> | undefined;
  const requestOnce = () => {
    requested ??= readFirst();
    return requested;
  };
  return {
    [Symbol.toStringTag]: 'ListRequest',
    then: (onPage, onError) => requestOnce().then(onPage, onError),
    catch: (onError) => requestOnce().catch(onError),
    finally: (onEnd) => requestOnce().finally(onEnd),
    pages: () => pagesFrom(readFirst),
    [Symbol.asyncIterator]: () => itemsFrom(readFirst),
  };
}

/** Yields every page when the loop reaches it. Memory has one page at a time, because no page refers to another. */
async function* pagesFrom<Item>(
  readFirst: () => Promise<Page<Item>>,
): AsyncGenerator<Page<Item>, void, undefined> {
  let page: Page<Item> | null = await readFirst();
  while (page) {
    yield page;
    page = await page.nextPage();
  }
}

async function* itemsFrom<Item>(readFirst: () => Promise<Page<Item>>): AsyncGenerator<Item, void, undefined> {
  for await (const page of pagesFrom(readFirst)) yield* page.data;
}
