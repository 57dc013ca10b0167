import type { Middleware as KoaMiddleware, ParameterizedContext } from 'koa';
import type { Caller } from '../auth/api-key-cache.ts';
import type { ErrorCode } from './error-catalogue.ts';
import type { StoreReader } from '../store/reader.ts';
import type { ReadSnapshot } from '../store/read-snapshot.ts';

/** What the middlewares learn of a request, in the order in which they learn it. */
export type RequestState = {
  requestId: string;
  caller: Caller | null;
  /** The generation that the whole request is answered from. */
  snapshot: ReadSnapshot | null;
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
export type Middleware = KoaMiddleware<RequestState>;
