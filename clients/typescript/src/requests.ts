import type { Answer, ListRequest, Page, RequestOptions } from './types.ts';

/** The two kinds of request of which the generated methods are made. */
export type Requests = {
  list: <Item>(
    path: string,
    id: string | null,
    params: object | undefined,
    options: RequestOptions | undefined,
  ) => ListRequest<Item>;
  retrieve: <Data>(path: string, id: string, options: RequestOptions | undefined) => Promise<Answer<Data>>;
};

/** Sends a request of a path with its id and parameters. */
export type Get = (
  path: string,
  id: string | null,
  params: object,
  options: RequestOptions,
) => Promise<Answer<unknown>>;

type ListBody<Item> = { data: Item[]; hasMore: boolean; nextCursor: string | null };

export const createRequests = (get: Get): Requests => ({
  list: <Item>(path: string, id: string | null, params: object = {}, options: RequestOptions = {}) =>
    listRequest<Item>(structuredClone(params), async (query) => {
      const { data: body, ...meta } = (await get(path, id, query, options)) as Answer<ListBody<Item>>;
      const { data, hasMore, nextCursor } = body;
      return { data, hasMore, nextCursor, ...meta };
    }),
  retrieve: async <Data>(path: string, id: string, options: RequestOptions = {}) =>
    (await get(path, id, {}, options)) as Answer<Data>,
});

/** `params` must stay as they are: a cursor is valid for one sort and one set of filters. */
function listRequest<Item>(params: object, ask: (params: object) => Promise<Page<Item>>): ListRequest<Item> {
  let sent: Promise<Page<Item>> | undefined;
  const first = () => (sent ??= ask(params));
  async function* pages() {
    let page = await ask(params);
    yield page;
    while (page.nextCursor !== null) {
      page = await ask({ ...params, startingAfter: page.nextCursor });
      yield page;
    }
  }
  return {
    [Symbol.toStringTag]: 'ListRequest',
    then: (onPage, onError) => first().then(onPage, onError),
    catch: (onError) => first().catch(onError),
    finally: (onEnd) => first().finally(onEnd),
    pages,
    [Symbol.asyncIterator]: async function* () {
      for await (const page of pages()) yield* page.data;
    },
  };
}
