import { z } from 'zod';
import type { ApiError } from './api-error.ts';
import { errorCatalogue, type ErrorCode, type ErrorType } from './error-catalogue.ts';

export const errorCodes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]];

const common = {
  message: z.string().describe('An explanation for people. It may change between releases.'),
  docUrl: z.url().describe('The URL of the page about this code.'),
  requestId: z
    .string()
    .startsWith('req_')
    .describe('The id of the request, as in the header `Request-Id`. Quote it when you contact support.'),
};
const param = { param: z.string().describe('The name of the invalid query parameter.') };

/** The schema of one error. `invalid_query_parameter` always names a parameter; other codes never do. */
const errorSchemaOf = (code: ErrorCode) => {
  const fields = {
    type: z.literal<ErrorType>(errorCatalogue[code].type).describe('The category of the error.'),
    code: z.literal(code).describe('The cause of the error. Branch on this field.'),
    ...common,
  };
  return z
    .strictObject(code === 'invalid_query_parameter' ? { ...fields, ...param } : fields)
    .meta({ id: componentOf(code), description: errorCatalogue[code].message });
};

/** `invalid_cursor` → `InvalidCursorError`: the name of the error's component in the OpenAPI document. */
const componentOf = (code: ErrorCode): string => {
  const name = code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return name.endsWith('Error') ? name : `${name}Error`;
};

type ErrorEnvelope = {
  error: {
    type: ErrorType;
    code: ErrorCode;
    message: string;
    docUrl: string;
    requestId: string;
    param?: string;
  };
};

export const errorSchemas = Object.fromEntries(
  errorCodes.map((code) => [code, errorSchemaOf(code)]),
) as Record<ErrorCode, ReturnType<typeof errorSchemaOf>>;

/** The schema of an error response with one of these codes. */
export const errorEnvelopeSchemaOf = ([first, ...rest]: [ErrorCode, ...ErrorCode[]]) =>
  z.strictObject({
    error:
      rest.length === 0
        ? errorSchemas[first]
        : z
            .discriminatedUnion('code', [errorSchemas[first], ...rest.map((code) => errorSchemas[code])])
            .describe('The error.'),
  });

/** The schema of every error response. */
export const errorEnvelopeSchema = errorEnvelopeSchemaOf(errorCodes);

/** Where the pages about error codes are: below `docsUrl` or, if that is not set, below `<baseUrl>/docs`. */
export type DocsLocation = { docsUrl: string | undefined; baseUrl: string | undefined };

/**
 * The only serializer of errors. If no URL is configured, links lead to `port` of localhost. The header `Host` is not
 * used: the client controls it.
 */
export function errorEnvelope(
  { docsUrl, baseUrl }: DocsLocation,
  error: ApiError,
  { requestId, port }: { requestId: string; port: number | undefined },
): ErrorEnvelope {
  return {
    error: {
      type: errorCatalogue[error.code].type,
      code: error.code,
      message: error.message,
      docUrl: `${docsUrl ?? `${baseUrl ?? `https://localhost:${port ?? 0}`}/docs`}/errors/${error.code}`,
      requestId,
      ...(error.param === undefined ? {} : { param: error.param }),
    },
  };
}
