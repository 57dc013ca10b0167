import { z } from 'zod';

export const pageSizeMax = 100;
const pageSizeDefault = 20;

/** Converts decimal digits only. `Number` would also accept `1e1`, `0x10`, ` 5` and the empty text. */
const toInteger = (value: unknown) => (/^[0-9]+$/.test(String(value)) ? Number(value) : value);

const message = `must be an integer from 1 to ${pageSizeMax}`;

/** A cursor for the examples of the OpenAPI document. */
export const exampleCursor =
  'WzEsIjIwMjYtMDEtMzFUMTI6NDA6NTcuMDAwWnRpXzAxSzNRWjhNNFQiLCJhYmNkZWZnaGlqa2xtbm9wIl0';

/** The parameters of every list. */
export const pageParameters = {
  limit: z
    .preprocess(toInteger, z.int(message).min(1, message).max(pageSizeMax, message))
    .default(pageSizeDefault)
    .meta({ description: 'The maximum number of items in the page.', examples: [50] }),
  startingAfter: z
    .string()
    .optional()
    .meta({
      description:
        'The opaque `nextCursor` of the previous page. It is valid for the same list with the same sort and ' +
        'filters; `limit` may differ. Omit it for the first page.',
      examples: [exampleCursor],
    }),
};
