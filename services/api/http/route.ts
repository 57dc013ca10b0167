import type { z } from 'zod';
import type { StoreReader } from '../store/reader.ts';
import type { ErrorCode } from './error-catalogue.ts';
import { readPath, readQuery } from './parameters.ts';

/** The clock by which data expires. A request reads it once, so a response reflects one instant. */
export type Clock = { now: () => Date };

/** The data that a handler may read: the caller's organization, in the generation of this request. */
export type Scope = {
  orgId: string;
  store: StoreReader;
  /** The path of the request. */
  path: string;
};

/** The answer of a handler: a body, or pieces of the JSON text of a body that is too large to hold in memory. */
export type Answer<T> = ({ body: T } | { chunks: AsyncGenerator<string, void> }) & {
  /**
   * Returns the cursor of the next page, or null on the last page. Only a list has a cursor. The result is right once
   * the first 256 K characters of the text have been read.
   */
  readNextCursor?: () => string | null;
};

type RouteDeclaration<P extends z.ZodObject, Q extends z.ZodObject, R extends z.ZodType> = {
  /** Pattern of the router, such as `/v1/tickets/:id`. */
  path: string;
  /** Name of the endpoint in the OpenAPI document and in generated clients. */
  operationId: string;
  /** Heading of the endpoint in the OpenAPI document. */
  tag: string;
  summary: string;
  description: string;
  params: P;
  query: Q;
  /**
   * Shape of the 200 body. Presenters have its type, and tests validate every route by it. Production does not validate
   * responses.
   */
  response: R;
  /** A 200 body for the OpenAPI document. */
  example: z.output<R>;
  /** Further error codes, beside those of every route (`commonErrors`) and of invalid parameters. */
  errors: ErrorCode[];
  handler: (
    scope: Scope,
    request: { params: z.output<P>; query: z.output<Q> },
  ) => Promise<Answer<z.output<R>>>;
};

export type Route = Omit<RouteDeclaration<z.ZodObject, z.ZodObject, z.ZodType>, 'handler'> & {
  respond: (
    scope: Scope,
    raw: { params: Record<string, string>; search: string },
  ) => Promise<Answer<unknown>>;
};

/**
 * Declares a route as data. Path and query are parsed here, so handlers receive only valid input. Every route may
 * answer `invalid_query_parameter`, because an unknown parameter is invalid.
 */
export function defineRoute<P extends z.ZodObject, Q extends z.ZodObject, R extends z.ZodType>({
  handler,
  ...declared
}: RouteDeclaration<P, Q, R>): Route {
  const parameterErrors: ErrorCode[] =
    Object.keys(declared.params.shape).length === 0
      ? ['invalid_query_parameter']
      : ['invalid_path_parameter', 'invalid_query_parameter'];
  return {
    ...declared,
    errors: [...parameterErrors, ...declared.errors],
    respond: (scope, { params, search }) =>
      handler(scope, { params: readPath(declared.params, params), query: readQuery(declared.query, search) }),
  };
}
