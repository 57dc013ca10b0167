import { z } from 'zod';

export const pageSizeMax = 100;
export const pageSizeDefault = 20;

const message = `must be an integer from 1 to ${pageSizeMax}`;

/** The parameters of every list. */
export const pageParameters = {
  limit: z
    .string()
    .regex(/^[0-9]+$/, message)
    .transform(Number)
    .pipe(z.int(message).min(1, message).max(pageSizeMax, message))
    .default(pageSizeDefault)
    .describe(`Items on a page, 1 to ${pageSizeMax}`),
  startingAfter: z.string().optional().describe('`nextCursor` of the previous page'),
};
