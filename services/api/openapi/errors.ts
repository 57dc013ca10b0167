import { STATUS_CODES } from 'node:http';
import { ApiError } from '../http/api-error.ts';
import { errorCatalogue, type ErrorCode } from '../http/error-catalogue.ts';
import { errorCodes, errorEnvelope, errorEnvelopeSchema, type DocsLocation } from '../http/error-envelope.ts';
import { headers } from './headers.ts';
import { toJsonSchema } from './json-schema.ts';
import type { Response } from './types.ts';

export type ErrorResponseSettings = {
  docs: DocsLocation;
  headersOf: (status: number) => Response['headers'];
};

/** Codes that any endpoint may answer: all except those of parameters and resources. */
export const commonErrors = errorCodes.filter((code) => {
  const { type } = errorCatalogue[code];
  return type !== 'validation_error' && type !== 'not_found';
});

/** The common codes of paths that need neither a key nor the store. */
export const publicErrors = commonErrors.filter((code) => {
  const { type } = errorCatalogue[code];
  return type !== 'authentication_error' && type !== 'rate_limit_error' && code !== 'service_unavailable';
});

/** One response per status among `codes`, with all codes of that status. */
export const errorResponses = (
  settings: ErrorResponseSettings,
  codes: ErrorCode[],
): Record<string, Response> =>
  Object.fromEntries(
    codes.map((code) => {
      const { status } = errorCatalogue[code];
      const alike = codes.filter((other) => errorCatalogue[other].status === status);
      return [String(status), errorResponse(settings, status, alike)];
    }),
  );

export function errorResponse(
  { docs, headersOf }: ErrorResponseSettings,
  status: number,
  codes: ErrorCode[],
): Response {
  const examples = codes.map(
    (code) => [code, { summary: errorCatalogue[code].message, value: errorExample(docs, code) }] as const,
  );
  return {
    description: `${STATUS_CODES[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headersOf(status),
    content: {
      'application/json': {
        schema: toJsonSchema(errorEnvelopeSchema).schema,
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** The URL of the API in examples, if none is configured. */
export const exampleOrigin = 'https://api.example.com';

/** The example envelope of a code, for the OpenAPI document and the page of the code. */
export const errorExample = (docs: DocsLocation, code: ErrorCode) =>
  errorEnvelope(
    { ...docs, baseUrl: docs.baseUrl ?? exampleOrigin },
    new ApiError(code, code === 'invalid_query_parameter' ? badLimit : {}),
    { requestId: headers['Request-Id'].example, port: undefined },
  );

const badLimit = { param: 'limit', message: '`limit` must be an integer from 1 to 100.' };
