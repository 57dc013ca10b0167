export { createClient } from './client.ts';
export { ApiError, ConnectionError, CutResponseError, EndlessListError, TimeoutError } from './errors.ts';
export { exportChanges, type ExportBatch, type ExportOptions } from './export-changes.ts';
export type { ClientOptions } from './options.ts';
export type * from './generated/client.ts';
export type {
  Answer,
  Bounds,
  ErrorCode,
  ErrorType,
  ListRequest,
  Meta,
  Page,
  RateLimit,
  RequestOptions,
} from './types.ts';
