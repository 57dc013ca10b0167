import { STATUS_CODES } from 'node:http';
import { ApiError } from '../http/api-error.ts';
import { errorCatalogue, type ErrorCode } from '../http/error-catalogue.ts';
import { errorCodes, errorEnvelope, errorSchemas, type DocsLocation } from '../http/error-envelope.ts';
import { headers } from './headers.ts';
import { toJsonSchema, type JsonSchema } from './json-schema.ts';
import type { Response } from './openapi.ts';

type Described = { docs: DocsLocation; headersOf: (status: number) => Response['headers'] };

/** Codes that any endpoint may answer: those of neither its parameters nor its resource. */
export const commonErrors = errorCodes.filter((code) => {
  const { type } = errorCatalogue[code];
  return type !== 'validation_error' && type !== 'not_found';
});

/** Of those, what can befall a request that needs neither a key nor the store. */
export const publicErrors = commonErrors.filter((code) => {
  const { type } = errorCatalogue[code];
  return type !== 'authentication_error' && type !== 'rate_limit_error' && code !== 'service_unavailable';
});

/** One response for each status among `codes`, with every code that it may carry. */
export function errorResponses(described: Described, codes: ErrorCode[]): Record<string, Response> {
  const statuses = [...new Set(codes.map((code) => errorCatalogue[code].status as number))];
  return Object.fromEntries(
    statuses
      .toSorted((a, b) => a - b)
      .map((status) => [
        String(status),
        errorResponse(
          described,
          status,
          codes.filter((code) => errorCatalogue[code].status === status),
        ),
      ]),
  );
}

export function errorResponse({ docs, headersOf }: Described, status: number, codes: ErrorCode[]): Response {
  const examples = codes.map((code) => [
    code,
    { summary: errorCatalogue[code].message, value: errorExample(docs, code) },
  ]);
  return {
    description: `${STATUS_CODES[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headersOf(status),
    content: {
      'application/json': {
        schema: schemaOf(codes),
        examples: Object.fromEntries(examples) as Record<string, { summary: string; value: unknown }>,
      },
    },
  };
}

function schemaOf(codes: ErrorCode[]): JsonSchema {
  const schemas = codes.map((code) => toJsonSchema(errorSchemas[code]).schema);
  const [only] = schemas;
  return only && schemas.length === 1 ? only : { oneOf: schemas };
}

/** Stands for the address of the API in examples where none is configured. */
export const exampleOrigin = 'https://api.example.com';

/** The envelope of a code as the document and its page show it. */
export const errorExample = (docs: DocsLocation, code: ErrorCode) =>
  errorEnvelope(docs, new ApiError(code, code === 'invalid_query_parameter' ? badLimit : {}), {
    requestId: headers['Request-Id'].example,
    origin: exampleOrigin,
  });

const badLimit = { param: 'limit', message: '`limit` must be an integer from 1 to 100.' };
