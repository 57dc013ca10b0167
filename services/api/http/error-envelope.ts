import { z } from 'zod';
import type { ApiError } from './api-error.ts';
import { errorCatalogue, type ErrorCode } from './error-catalogue.ts';

export const errorCodes = Object.keys(errorCatalogue) as ErrorCode[];

const types = [...new Set(Object.values(errorCatalogue).map(({ type }) => type))];

const errorSchema = z
  .strictObject({
    type: z.enum(types).describe('The category of the error.'),
    code: z.enum(errorCodes).describe('The cause of the error. Branch on this field.'),
    message: z.string().describe('An explanation for people. It may change between releases.'),
    docUrl: z.url().describe('The URL of the page about this code.'),
    requestId: z
      .string()
      .startsWith('req_')
      .describe('The id of the request, as in the `Request-Id` header. Quote it when you contact support.'),
    param: z
      .string()
      .optional()
      .describe('The name of the invalid query parameter, only with `invalid_query_parameter`.'),
  })
  .refine((found) => (found.param === undefined) === (found.code !== 'invalid_query_parameter'))
  .describe('The error.');

/** The schema of every error response. */
export const errorEnvelopeSchema = z
  .strictObject({ error: errorSchema })
  .meta({ id: 'Error', description: 'The body of every error response.' });

/** The public address of the service, below which are the pages of its error codes; undefined if it is not set. */
export type BaseUrl = string | undefined;

/**
 * The only serializer of errors. Without a public address, links lead to `port` of localhost. The header `Host` is not
 * used, because the client controls it.
 */
export function errorEnvelope(
  baseUrl: BaseUrl,
  error: ApiError,
  { requestId, port }: { requestId: string; port: number | undefined },
): z.output<typeof errorEnvelopeSchema> {
  const docsUrl = baseUrl ?? `https://localhost:${port ?? 0}`;
  const envelope: z.output<typeof errorEnvelopeSchema> = {
    error: {
      type: errorCatalogue[error.code].type,
      code: error.code,
      message: error.message,
      docUrl: `${docsUrl}/docs/errors/${error.code}`,
      requestId,
    },
  };
  if (error.param !== undefined) envelope.error.param = error.param;
  return envelope;
}
