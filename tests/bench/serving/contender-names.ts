/** The contenders in the order of the table: baselines, then the API in several setups. */
export const servingNames = [
  'bare',
  'fastify',
  'naive-koa',
  'api',
  'api-compressed',
  'api-https',
  'api-http2',
  'api-2-replicas',
] as const;

export type ServingName = (typeof servingNames)[number];
