import type { z } from 'zod';
import type { ErrorCode } from './error-catalogue.ts';
import { readPath } from './path-parameters.ts';
import { readQuery } from './query-parameters.ts';
import type { StoreReader } from '../store/reader.ts';

/** What a handler may read: the caller's organization, in the generation that serves this request. */
export type Scope = { orgId: string; store: StoreReader; path: string };

/** A response body; `chunks` is one that is too large to be held, as pieces of its JSON text. */
export type Reply<T> = { body: T } | { chunks: AsyncGenerator<string, void> };

type Declaration<P extends z.ZodObject, Q extends z.ZodObject, R extends z.ZodType> = {
  method: 'GET';
  /** Pattern as the router takes it, `/v1/tickets/:id`. */
  path: string;
  /** Name of the endpoint in the document and in clients made from it. */
  operationId: string;
  /** Heading under which the document shows it. */
  tag: string;
  summary: string;
  description: string;
  params: P;
  query: Q;
  /** Shape of the 200 body. Tests hold every route to it; in production presenters are typed by it instead. */
  response: R;
  /** A 200 body for the document. */
  example: z.output<R>;
  /** Codes besides those that any route may answer (`commonErrors` in the document) and those of its parameters. */
  errors: ErrorCode[];
  handler: (
    scope: Scope,
    request: { params: z.output<P>; query: z.output<Q> },
  ) => Promise<Reply<z.output<R>>>;
};

export type Route = Omit<Declaration<z.ZodObject, z.ZodObject, z.ZodType>, 'handler'> & {
  respond: (scope: Scope, raw: { params: Record<string, string>; search: string }) => Promise<Reply<unknown>>;
};

/**
 * A route as data. Path and query are parsed here, so that handlers meet only what is valid. Every route may answer
 * `invalid_query_parameter`, as a parameter that it does not have is one.
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
