import { z } from 'zod';
import type { ApiError } from './api-error.ts';
import { errorCatalogue, type ErrorCode, type ErrorType } from './error-catalogue.ts';

const codes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]];
const types: [ErrorType, ...ErrorType[]] = [
  'authentication_error',
  'invalid_request_error',
  'not_found',
  'validation_error',
  'rate_limit_error',
  'api_error',
];

/** The one body of every response that is not a success. */
export const errorEnvelopeSchema = z.strictObject({
  error: z.strictObject({
    type: z.enum(types),
    code: z.enum(codes),
    message: z.string(),
    docUrl: z.url(),
    requestId: z.string().startsWith('req_'),
    param: z.string().optional(),
  }),
});

export type ErrorEnvelope = z.output<typeof errorEnvelopeSchema>;

/** Where the pages about error codes are: `docsUrl` if configured, else below the API's own address. */
export type DocsLocation = { docsUrl: string | undefined; baseUrl: string | undefined };

/** The one serializer of errors. `origin` (`https://host`) is where the request went. */
export function errorEnvelope(
  { docsUrl, baseUrl }: DocsLocation,
  error: ApiError,
  { requestId, origin }: { requestId: string; origin: string },
): ErrorEnvelope {
  return {
    error: {
      type: errorCatalogue[error.code].type,
      code: error.code,
      message: error.message,
      docUrl: `${docsUrl ?? `${baseUrl ?? origin}/docs`}/errors/${error.code}`,
      requestId,
      ...(error.param === undefined ? {} : { param: error.param }),
    },
  };
}
