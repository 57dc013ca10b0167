import { z } from 'zod';
import type { DocsLocation } from '../http/error-envelope.ts';
import { errorResponses, publicErrors } from './errors.ts';
import { fixed, headers, publicHeaders } from './headers.ts';
import { toJsonSchema } from './json-schema.ts';
import type { Operation } from './types.ts';
import { ifNoneMatchReference } from './operation.ts';

/** How long clients may use the OpenAPI document without revalidation. */
const documentAgeMaxSeconds = 300;
export const specCacheControl = `public, max-age=${documentAgeMaxSeconds}`;
/** Of every response at the path of the document. */
export const anyOrigin = { 'Access-Control-Allow-Origin': '*' };

const healthSchema = z
  .strictObject({ status: z.literal('ok').describe('Always `ok`.') })
  .describe('The status of the service.');

const part = (description: string) => z.looseObject({}).describe(description);
const openApiSchema = z
  .strictObject({
    openapi: z.string().describe('The version of OpenAPI.'),
    info: part('Title, version and introduction.'),
    servers: z.array(part('A base URL.')).describe('The base URLs of the API.'),
    tags: z.array(part('A group.')).describe('The groups of endpoints.'),
    security: z.array(part('An authentication scheme.')).describe('The authentication schemes.'),
    paths: part('The endpoints.'),
    components: part('Schemas, headers and responses that the endpoints share.'),
  })
  .describe('An OpenAPI 3.1 document.');

const originHeaders = (status: number) => ({
  ...publicHeaders(status),
  'Access-Control-Allow-Origin': {
    ...fixed('Pages of any host may read the document.', '*'),
    required: false,
  },
});
const documentHeaders = (status: number) => ({
  ...originHeaders(status),
  'Cache-Control': fixed(
    `Any cache may store the document and reuse it for ${documentAgeMaxSeconds} seconds.`,
    specCacheControl,
  ),
  ETag: headers.ETag,
});

export function healthOperation(docs: DocsLocation): Operation {
  const codes = publicErrors.filter((code) => code !== 'https_required');
  return {
    operationId: 'getHealth',
    tags: ['Service'],
    summary: 'Reports that the service is up',
    description:
      'For health checks. It needs no API key, also works over plain HTTP, and does not read the database.',
    security: [],
    parameters: [],
    responses: {
      200: {
        description: 'The service is up.',
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
  description: 'The OpenAPI 3.1 document of the API. It needs no API key.',
  security: [],
  parameters: [ifNoneMatchReference],
  responses: {
    200: {
      description: 'The document.',
      headers: documentHeaders(200),
      content: { 'application/json': { schema: toJsonSchema(openApiSchema).schema } },
    },
    304: {
      description: 'The document has not changed since the version in `If-None-Match`. There is no body.',
      headers: documentHeaders(304),
    },
    ...errorResponses({ docs, headersOf: originHeaders }, publicErrors),
  },
});
