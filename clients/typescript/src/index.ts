export { createClient, type Client } from './client.ts';
export { ApiError, ConnectionError, TimeoutError } from './errors.ts';
export { exportChanges, type ChangeBatch, type ExportOptions } from './export-changes.ts';
export { findDeleted, type DeletedItem, type FindDeletedOptions } from './find-deleted.ts';
export type { Listing } from './listing.ts';
export type { ClientOptions, SentOptions } from './options.ts';
export type { Failure, Retry } from './retry.ts';
export type * from './types.ts';
