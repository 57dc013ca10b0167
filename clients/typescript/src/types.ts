import type { components, paths } from './generated/openapi.ts';

/** The error in a response of the API. */
export type ErrorBody = components['schemas']['Error']['error'];

/** The error codes of the API. New releases add codes, so keep a branch for others. */
export type ErrorCode = ErrorBody['code'];

/** The category of an error. New releases may add categories. */
export type ErrorType = ErrorBody['type'];

type Path = Extract<keyof paths, `/v1/${string}`>;

/**
 * The query parameters of a path. `updatedAt[gte]` is `updatedAt: { gte }`, and may be a `Date` as well. Undefined
 * omits a parameter. A null `startingAfter` is also omitted, so a loop can begin with null.
 */
export type Query<P extends Path> = Nested<NonNullable<paths[P]['get']['parameters']['query']>>;

/** Turns `{ 'updatedAt[gte]'?: string; limit?: number }` into `{ updatedAt?: Bounds; limit?: number }`. */
type Nested<Parameters> = {
  [Name in keyof Parameters as Name extends `${string}[${string}]` ? never : Name]?:
    Parameters[Name] | (Name extends 'startingAfter' ? null : never) | undefined;
} & {
  [Name in keyof Parameters as Name extends `${infer Field}[${string}]` ? Field : never]?: Bounds | undefined;
};

/** Inclusive bounds of a time: ISO 8601 or a `Date`. */
export interface Bounds {
  gte?: string | Date | undefined;
  lte?: string | Date | undefined;
}

export interface RateLimit {
  /** Requests that the key may make in one window, of which `remaining` are left. */
  limit: number;
  remaining: number;
  /** Seconds until the oldest counted request expires and one more is allowed. */
  resetSeconds: number;
}

/** Metadata of every response. */
export interface Meta {
  /** Identifies the request. Quote this id when you contact support. */
  requestId: string;
  /** The response reflects every change up to this instant, and possibly later ones. */
  dataAsOf: Date;
  /** Null if the API does not limit requests. */
  rateLimit: RateLimit | null;
  /** All response headers. */
  headers: Headers;
}

export interface Answer<Data> extends Meta {
  data: Data;
}

/** One page of a list. Iterate over it for its items and the items of all later pages. */
export interface Page<Item> extends Answer<Item[]>, AsyncIterable<Item> {
  hasMore: boolean;
  nextCursor: string | null;
  /** Requests the page after this one, with the same sort and filters. Resolves to null after the last page. */
  nextPage: () => Promise<Page<Item> | null>;
}

/** A list. Await it for one page, or iterate over it for every item. Until then no request is sent. */
export interface ListRequest<Item> extends Promise<Page<Item>> {
  /** Every item after `startingAfter`. Requests a page when the loop reaches it, and keeps only that page in memory. */
  [Symbol.asyncIterator]: () => AsyncGenerator<Item, void, undefined>;
  /** Every page after `startingAfter`. */
  pages: () => AsyncGenerator<Page<Item>, void, undefined>;
}

export interface RequestOptions {
  /** Aborts the request, its retries and the waits between them. The call rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Overrides the client's timeout for this request. */
  timeoutMs?: number | undefined;
  /** Overrides the client's number of retries for this request. */
  retries?: number | undefined;
  /** Additional headers, such as `traceparent`. Headers that the client sends itself are refused. */
  headers?: Readonly<Record<string, string>> | undefined;
}
