/** What is measured, in the order of the table: yardsticks, then the API as it is reached in several ways. */
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
