import type { Middleware as KoaMiddleware, ParameterizedContext } from 'koa';
import type { Caller } from '../../../shared/keys/token-keys.ts';
import type { ReadSnapshot } from '../store/read-snapshot.ts';
import type { StoreReader } from '../store/reader.ts';
import type { ErrorCode } from './error-catalogue.ts';

/** The state of a request, in the order in which the middleware sets it. An optional field is absent until then. */
export type RequestState = {
  requestId: string;
  caller?: Caller;
  /** The generation that the whole request is answered from. */
  snapshot?: ReadSnapshot;
  /** Reads that generation; set once the concurrency limit has admitted the request. */
  store?: StoreReader;
  /** Bytes of the response body so far, before compression. */
  responseBytes: number;
  /** The pattern of the matched route, for logs and metrics, because a path contains ids. */
  route?: string;
  /** The id in the path, as the client sent it. */
  pathId?: string | undefined;
  /** Code of the error in the response. */
  errorCode?: ErrorCode;
  /** The cause of a 5xx response; for the log only. */
  failure?: unknown;
};

export type Context = ParameterizedContext<RequestState>;
export type Middleware = KoaMiddleware<RequestState>;
