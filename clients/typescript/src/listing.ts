import type { SentOptions } from './options.ts';
import type { Conditional, NotModified, Page, RequestOptions } from './types.ts';

/** A list: one page, page by page, or item by item. */
export type Listing<Item, Params> = {
  list: List<Item, Params>;
  /** Every page after `startingAfter`. A page is requested only when the loop reaches it. */
  pages: (params?: Params, options?: RequestOptions) => AsyncGenerator<Page<Item>, void, undefined>;
  /** Every item. Holds one page at a time. */
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
  // Only a conditional request can return `NotModified`, as the first overload says.
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
    // A cursor is valid for one sort and one set of filters. The copy protects them from later changes by the caller.
    pages: (params = none, options) => pages(structuredClone(params), options),
    all: (params = none, options) => all(structuredClone(params), options),
  };
}
