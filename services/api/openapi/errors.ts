import { STATUS_CODES } from 'node:http';
import { ApiError } from '../http/api-error.ts';
import { errorCatalogue, type ErrorCode } from '../http/error-catalogue.ts';
import {
  errorCodes,
  errorEnvelope,
  errorEnvelopeSchemaOf,
  type DocsLocation,
} from '../http/error-envelope.ts';
import { headers } from './headers.ts';
import { toJsonSchema } from './json-schema.ts';
import type { Response } from './types.ts';

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
  const byStatus = new Map<number, [ErrorCode, ...ErrorCode[]]>();
  for (const code of codes) {
    const { status } = errorCatalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code] as [ErrorCode, ...ErrorCode[]]);
  }
  return Object.fromEntries(
    [...byStatus]
      .toSorted(([a], [b]) => a - b)
      .map(([status, found]) => [String(status), errorResponse(described, status, found)]),
  );
}

export function errorResponse(
  { docs, headersOf }: Described,
  status: number,
  codes: [ErrorCode, ...ErrorCode[]],
): Response {
  const examples = codes.map((code) => [
    code,
    { summary: errorCatalogue[code].message, value: errorExample(docs, code) },
  ]);
  return {
    description: `${STATUS_CODES[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headersOf(status),
    content: {
      'application/json': {
        schema: toJsonSchema(errorEnvelopeSchemaOf(codes)).schema,
        examples: Object.fromEntries(examples) as Record<string, { summary: string; value: unknown }>,
      },
    },
  };
}

/** Stands for the address of the API in examples where none is configured. */
export const exampleOrigin = 'https://api.example.com';

/** The envelope of a code as the document and its page show it. */
export const errorExample = (docs: DocsLocation, code: ErrorCode) =>
  errorEnvelope(
    { ...docs, baseUrl: docs.baseUrl ?? exampleOrigin },
    new ApiError(code, code === 'invalid_query_parameter' ? badLimit : {}),
    { requestId: headers['Request-Id'].example, port: undefined },
  );

const badLimit = { param: 'limit', message: '`limit` must be an integer from 1 to 100.' };
