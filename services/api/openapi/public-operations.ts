import { z } from 'zod';
import { otherErrors } from './errors.ts';
import { fixedHeader, headers, publicHeaders } from './headers.ts';
import { toOpenSchema } from './json-schema.ts';
import { ifNoneMatchReference } from './operation.ts';
import type { Operation } from './types.ts';

/** How long clients may use the OpenAPI document without revalidation. */
const documentAgeMaxSeconds = 300;
export const specCacheControl = `public, max-age=${documentAgeMaxSeconds}`;
/** A header of every response at the path of the document. */
export const anyOrigin = { 'Access-Control-Allow-Origin': '*' };

const healthSchema = z
  .strictObject({ status: z.literal('ok').describe('Always `ok`.') })
  .describe('The status of the service.');

const openApiSchema = z
  .looseObject({ openapi: z.string().describe('The version of OpenAPI.') })
  .describe('An OpenAPI 3.1 document.');

const documentHeaders = {
  ...publicHeaders,
  'Access-Control-Allow-Origin': {
    ...fixedHeader('Pages of any host may read the document.', '*'),
    required: false,
  },
  'Cache-Control': fixedHeader(
    `Any cache may store the document and reuse it for ${documentAgeMaxSeconds} seconds.`,
    specCacheControl,
  ),
  ETag: headers.ETag,
};

export const healthOperation: Operation = {
  operationId: 'getHealth',
  tags: ['Service'],
  summary: 'Check that the service is up',
  description: 'For health checks. It needs no API key, and does not read the database.',
  security: [],
  parameters: [],
  responses: {
    200: {
      description: 'The service is up.',
      headers: publicHeaders,
      content: {
        'application/json': { schema: toOpenSchema(healthSchema).schema, example: { status: 'ok' } },
      },
    },
    ...otherErrors,
  },
};

export const specOperation: Operation = {
  operationId: 'getOpenApi',
  tags: ['Service'],
  summary: 'Retrieve the OpenAPI document',
  description: 'The OpenAPI 3.1 document of the API. It needs no API key.',
  security: [],
  parameters: [ifNoneMatchReference],
  responses: {
    200: {
      description: 'The document.',
      headers: documentHeaders,
      content: { 'application/json': { schema: toOpenSchema(openApiSchema).schema } },
    },
    304: {
      description: 'The document has not changed since the version in `If-None-Match`. There is no body.',
      headers: documentHeaders,
    },
    ...otherErrors,
  },
};
