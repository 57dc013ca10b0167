import { z } from 'zod';
import type { DocsLocation } from '../http/error-envelope.ts';
import { errorResponses, publicErrors } from './errors.ts';
import { headers, publicHeaders } from './headers.ts';
import { toJsonSchema } from './json-schema.ts';
import type { Operation } from './types.ts';
import { ifNoneMatchReference } from './operation.ts';

/** How long clients may use the OpenAPI document without revalidation. */
const documentAgeMaxSeconds = 300;
export const specCacheControl = `public, max-age=${documentAgeMaxSeconds}`;

const healthSchema = z
  .strictObject({ status: z.literal('ok').describe('Always `ok`.') })
  .describe('A sign of life.');

const part = (description: string) => z.looseObject({}).describe(description);
const openApiSchema = z
  .strictObject({
    openapi: z.string().describe('Version of OpenAPI.'),
    info: part('What the API is.'),
    servers: z.array(part('An address of the API.')).describe('Where the API is served.'),
    tags: z.array(part('A heading.')).describe('Headings of the endpoints.'),
    security: z.array(part('A way to authenticate.')).describe('How requests are authenticated.'),
    paths: part('The endpoints.'),
    components: part('What the endpoints share.'),
  })
  .describe('An OpenAPI 3.1 document.');

const cacheControl = {
  ...headers['Cache-Control'],
  description: 'The document is public, and may be kept for a while.',
  schema: { type: 'string', const: specCacheControl },
  example: specCacheControl,
} as const;
const documentHeaders = (status: number) => ({
  ...publicHeaders(status),
  'Cache-Control': cacheControl,
  ETag: headers.ETag,
});

export function healthOperation(docs: DocsLocation): Operation {
  const codes = publicErrors.filter((code) => code !== 'https_required');
  return {
    operationId: 'getHealth',
    tags: ['Service'],
    summary: 'Tells that the service answers',
    description: 'For probes: it needs no key, is served over plain HTTP too, and asks nothing of the store.',
    security: [],
    parameters: [],
    responses: {
      200: {
        description: 'The service answers.',
        headers: publicHeaders(200),
        content: {
          'application/json': { schema: toJsonSchema(healthSchema).schema, example: { status: 'ok' } },
        },
      },
      ...errorResponses({ docs, headersOf: publicHeaders }, codes),
    },
  };
}

export const specOperation = (docs: DocsLocation): Operation => ({
  operationId: 'getOpenApi',
  tags: ['Service'],
  summary: 'Retrieves this document',
  description: 'The description of the API in OpenAPI 3.1. It needs no key.',
  security: [],
  parameters: [ifNoneMatchReference],
  responses: {
    200: {
      description: 'The document.',
      headers: documentHeaders(200),
      content: { 'application/json': { schema: toJsonSchema(openApiSchema).schema } },
    },
    304: {
      description: 'The document has not changed since the version that `If-None-Match` names.',
      headers: documentHeaders(304),
    },
    ...errorResponses({ docs, headersOf: publicHeaders }, publicErrors),
  },
});
