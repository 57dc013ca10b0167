/** The contenders in the order of the table: the baselines, then the API. */
export const servingNames = ['bare', 'fastify', 'api', 'api-http2'] as const;

export type ServingName = (typeof servingNames)[number];
