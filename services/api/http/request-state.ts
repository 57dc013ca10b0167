import type { Middleware, ParameterizedContext } from 'koa';
import type { Caller } from '../auth/api-keys.ts';
import type { ErrorCode } from './error-catalogue.ts';
import type { StoreReader } from '../store/reader.ts';
import type { View } from '../store/view.ts';

/** What the middlewares learn of a request, in the order in which they learn it. */
export type RequestState = {
  requestId: string;
  caller: Caller | null;
  /** The generation that the whole request is answered from. */
  view: View | null;
  /** How the request reads that generation, once it is admitted. */
  store: StoreReader | null;
  /** The pattern of the route that matched, for logs and metrics: paths carry ids. */
  route: string | null;
  /** The id in the path, as the client sent it. */
  pathId: string | undefined;
  /** Code of the error that is answered. */
  errorCode: ErrorCode | null;
  /** Why the response is a 5xx; for the log. */
  failure: unknown;
};

export type Context = ParameterizedContext<RequestState>;
export type Step = Middleware<RequestState>;
