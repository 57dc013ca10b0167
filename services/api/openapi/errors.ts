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
export const errorResponses = (
  settings: ErrorResponseSettings,
  codes: ErrorCode[],
): Record<string, Response> =>
  Object.fromEntries(
    codes.map((code) => {
      const { status } = errorCatalogue[code];
      const codesOfStatus = codes.filter((candidate) => errorCatalogue[candidate].status === status);
      return [String(status), errorResponse(settings, status, codesOfStatus)];
    }),
  );

export function errorResponse(
  { baseUrl, headersOf }: ErrorResponseSettings,
  status: number,
  codes: ErrorCode[],
): Response {
  const examples = codes.map(
    (code) => [code, { summary: errorCatalogue[code].message, value: errorExample(baseUrl, code) }] as const,
  );
  return {
    description: `${STATUS_CODES[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headersOf(status),
    content: {
      'application/json': {
        schema: toOpenSchema(errorEnvelopeSchema).schema,
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** The URL of the API in examples, if none is configured. */
export const exampleOrigin = 'https://api.example.com';

/** The example envelope of a code, for the OpenAPI document and the page of the code. */
export const errorExample = (baseUrl: BaseUrl, code: ErrorCode) =>
  errorEnvelope(
    baseUrl ?? exampleOrigin,
    new ApiError(code, code === 'invalid_query_parameter' ? badLimit : {}),
    { requestId: String(headers['Request-Id'].example), port: undefined },
  );

const badLimit = { param: 'limit', message: '`limit` must be an integer from 1 to 100.' };
