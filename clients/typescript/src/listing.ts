import type { SentOptions } from './options.ts';
import type { Conditional, NotModified, Page, RequestOptions } from './types.ts';

/** A list: one page, page by page, or item by item. */
export type Listing<Item, Params> = {
  list: List<Item, Params>;
  /** Every page from `startingAfter` on. A page is asked for when the loop comes to it, not before. */
  pages: (params?: Params, options?: RequestOptions) => AsyncGenerator<Page<Item>, void, undefined>;
  /** Every item; one page at a time is held. */
  all: (params?: Params, options?: RequestOptions) => AsyncGenerator<Item, void, undefined>;
};

type List<Item, Params> = {
  (params: Params | undefined, options: Conditional): Promise<Page<Item> | NotModified>;
  (params?: Params, options?: RequestOptions): Promise<Page<Item>>;
};

type Pageable = { startingAfter?: string };

export function listing<Item, Params extends Pageable>(
  ask: (params: Params, options: SentOptions) => Promise<Page<Item> | NotModified>,
): Listing<Item, Params> {
  const none = {} as Params;
  // Only a conditional request is answered with `NotModified`, which the first of the two signatures says.
  const list = ((params = none, options = {}) => ask(params, options)) as List<Item, Params>;
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
  return {
    list,
    // A cursor is good for one sort and one set of filters, so they are those of the call, whatever the
    // caller does to its object meanwhile.
    pages: (params = none, options) => pages(structuredClone(params), options),
    all: (params = none, options) => all(structuredClone(params), options),
  };
}
