import type { Page, RequestOptions } from './types.ts';

/** A list: one page, page by page, or item by item. */
export type Listing<Item, Params> = {
  list: (params?: Params, options?: RequestOptions) => Promise<Page<Item>>;
  /** Every page from `startingAfter` on. A page is asked for when the loop comes to it, not before. */
  pages: (params?: Params, options?: RequestOptions) => AsyncGenerator<Page<Item>, void, undefined>;
  /** Every item; one page at a time is held. */
  all: (params?: Params, options?: RequestOptions) => AsyncGenerator<Item, void, undefined>;
};

type Pageable = { startingAfter?: string };

export function listing<Item, Params extends Pageable>(
  list: (params: Params, options?: RequestOptions) => Promise<Page<Item>>,
): Listing<Item, Params> {
  async function* pages(params: Params, options?: RequestOptions) {
    let query = params;
    for (;;) {
      const page = await list(query, options);
      yield page;
      if (page.nextCursor === null) return;
      query = { ...query, startingAfter: page.nextCursor };
    }
  }
  async function* all(params: Params, options?: RequestOptions) {
    for await (const page of pages(params, options)) yield* page.data;
  }
  const none = {} as Params;
  return {
    list: (params = none, options) => list(params, options),
    // A cursor is good for one sort and one set of filters, so they are those of the call, whatever the
    // caller does to its object meanwhile.
    pages: (params = none, options) => pages(structuredClone(params), options),
    all: (params = none, options) => all(structuredClone(params), options),
  };
}
