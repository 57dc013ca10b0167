import { STATUS_CODES } from 'node:http';
import { ApiError } from '../http/api-error.ts';
import { errorCatalogue, type ErrorCode } from '../http/error-catalogue.ts';
import { type BaseUrl, errorCodes, errorEnvelope, errorEnvelopeSchema } from '../http/error-envelope.ts';
import { headers } from './headers.ts';
import { toOpenSchema } from './json-schema.ts';
import type { Response } from './types.ts';

export type ErrorResponseSettings = {
  baseUrl: BaseUrl;
  headersOf: (status: number, isList?: boolean) => Response['headers'];
};

const codesOfTypes = (...types: string[]) =>
  errorCodes.filter((code) => types.includes(errorCatalogue[code].type));

/** Codes that a caller can cause at any endpoint below `/v1`. */
export const commonErrors = codesOfTypes('authentication_error', 'rate_limit_error');

/** The errors that any path can return. The operations refer to them, and do not list them one by one. */
export function otherError(baseUrl: BaseUrl): Response {
  const codes = codesOfTypes('invalid_request_error', 'api_error');
  const headersOf = () => ({ 'Request-Id': { $ref: '#/components/headers/RequestId' } });
  const named = codes.map((code) => `${errorCatalogue[code].status} \`${code}\``);
  const description = `Any other error, such as ${named.join(', ')}.`;
  return { ...errorResponse({ baseUrl, headersOf }, 500, codes), description };
}
export const otherErrors = Object.fromEntries(
  ['4XX', '5XX'].map((statuses) => [statuses, { $ref: '#/components/responses/OtherError' }]),
);

/** One response per status among `codes`, with all codes of that status. */
export function errorResponses(
  settings: ErrorResponseSettings,
  codes: ErrorCode[],
): Record<string, Response> {
  const responses: Record<string, Response> = {};
  for (const [status, codesOfStatus] of Map.groupBy(codes, (code) => errorCatalogue[code].status)) {
    responses[status] = errorResponse(settings, status, codesOfStatus);
  }
  return responses;
}

export function errorResponse(
  { baseUrl, headersOf }: ErrorResponseSettings,
  status: number,
  codes: ErrorCode[],
): Response {
  const examples: Record<string, { summary: string; value: unknown }> = {};
  for (const code of codes)
    examples[code] = { summary: errorCatalogue[code].message, value: errorExample(baseUrl, code) };
  const names = codes.map((code) => `\`${code}\``);
  return {
    description: `${STATUS_CODES[status]}: ${names.join(', ')}.`,
    headers: headersOf(status),
    content: { 'application/json': { schema: toOpenSchema(errorEnvelopeSchema).schema, examples } },
  };
}

/** The URL of the API in examples, if none is configured. */
export const exampleOrigin = 'https://api.example.com';

/** The example envelope of a code, for the OpenAPI document and the page of the code. */
export function errorExample(baseUrl: BaseUrl, code: ErrorCode) {
  const error = new ApiError(code, code === 'invalid_query_parameter' ? badLimit : {});
  const requestId = String(headers['Request-Id'].example);
  return errorEnvelope(baseUrl ?? exampleOrigin, error, { requestId, port: undefined });
}

const badLimit = { param: 'limit', message: '`limit` must be an integer from 1 to 100.' };
