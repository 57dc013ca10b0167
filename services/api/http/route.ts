import type { z } from 'zod';
import type { StoreReader } from '../store/reader.ts';
import type { ErrorCode } from './error-catalogue.ts';
import { readPath, readQuery } from './parameters.ts';

/** Decides whether data has expired. A request reads the clock once, so that one response reflects one instant. */
export type Clock = { now: () => Date };

/** A handler reads only the caller's organization, in the generation of this request. */
export type Scope = {
  orgId: string;
  store: StoreReader;
  /** The path of the request. */
  path: string;
};

/** The answer of a handler: a body, or pieces of the JSON text of a body that is too large to hold in memory. */
export type Answer<T> = ({ body: T } | { chunks: AsyncGenerator<string, void> }) & {
  /**
   * The cursor of the next page; null on the last page. Only a list has it. Call it once the first 256 K characters of
   * the text are read.
   */
  nextCursor?: () => string | null;
};

type Declaration<P extends z.ZodObject, Q extends z.ZodObject, R extends z.ZodType> = {
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
   * Shape of the 200 body. Tests validate every route against it; in production only the types of presenters use it.
   */
  response: R;
  /** A 200 body for the OpenAPI document. */
  example: z.output<R>;
  /** Its own error codes, beside the codes of every route (`commonErrors`) and of its parameters. */
  errors: ErrorCode[];
  handler: (
    scope: Scope,
    request: { params: z.output<P>; query: z.output<Q> },
  ) => Promise<Answer<z.output<R>>>;
};

export type Route = Omit<Declaration<z.ZodObject, z.ZodObject, z.ZodType>, 'handler'> & {
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
}: Declaration<P, Q, R>): Route {
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
