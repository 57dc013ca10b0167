import type { Answer, ListRequest, Page, RequestOptions } from './types.ts';

/** The two kinds of request of which the generated methods are made. */
export type Requests = ReturnType<typeof createRequests>;

/** Sends a request of a path with its id and parameters. */
export type Get = (
  path: string,
  id: string | null,
  params: object,
  options: RequestOptions,
) => Promise<Answer<unknown>>;

type ListBody<Item> = { data: Item[]; hasMore: boolean; nextCursor: string | null };
type Ask<Item> = (params: object) => Promise<Answer<ListBody<Item>>>;

export const createRequests = (get: Get) => ({
  list: <Item>(path: string, id: string | null, params: object = {}, options: RequestOptions = {}) =>
    listRequest<Item>(structuredClone(params), async (query) => {
      return (await get(path, id, query, options)) as Answer<ListBody<Item>>;
    }),
  retrieve: async <Data>(path: string, id: string, options: RequestOptions = {}) =>
    (await get(path, id, {}, options)) as Answer<Data>,
});

/** `params` must stay as they are: a cursor is valid for one sort and one set of filters. */
function listRequest<Item>(params: { startingAfter?: string | null }, ask: Ask<Item>): ListRequest<Item> {
  const read = async (startingAfter: string | null | undefined): Promise<Page<Item>> => {
    const { data: body, ...meta } = await ask({ ...params, startingAfter: startingAfter ?? undefined });
    const { data, hasMore, nextCursor } = body;
    const page: Page<Item> = {
      ...meta,
      data,
      hasMore,
      nextCursor,
      nextPage: async () => (nextCursor === null ? null : read(nextCursor)),
      [Symbol.asyncIterator]: () => itemsFrom(page),
    };
    return page;
  };
  const first = () => read(params.startingAfter);
  let sent: Promise<Page<Item>> | undefined;
  const sentOnce = () => (sent ??= first());
  return {
    [Symbol.toStringTag]: 'ListRequest',
    then: (onPage, onError) => sentOnce().then(onPage, onError),
    catch: (onError) => sentOnce().catch(onError),
    finally: (onEnd) => sentOnce().finally(onEnd),
    pages: async function* () {
      yield* pagesFrom(await first());
    },
    [Symbol.asyncIterator]: async function* () {
      yield* itemsFrom(await first());
    },
  };
}

/** Both hold one page at a time: `page` is replaced, and no page refers to another. */
async function* pagesFrom<Item>(page: Page<Item> | null): AsyncGenerator<Page<Item>, void, undefined> {
  while (page) {
    yield page;
    page = await page.nextPage();
  }
}

async function* itemsFrom<Item>(page: Page<Item> | null): AsyncGenerator<Item, void, undefined> {
  while (page) {
    yield* page.data;
    page = await page.nextPage();
  }
}
