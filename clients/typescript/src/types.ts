import type { components, paths } from './generated/openapi.ts';

type Schemas = components['schemas'];

export type Ticket = Schemas['Ticket'];
/** A ticket in a list: its conversations are references. */
export type TicketItem = Schemas['TicketItem'];
export type Conversation = Schemas['Conversation'];
export type Message = Schemas['Message'];
export type Channel = Schemas['Channel'];
/** A channel in a list: without settings and configuration. */
export type ChannelItem = Schemas['ChannelItem'];
export type Qa = Schemas['Qa'];

/** The error codes of the API. New releases add codes, so keep a branch for others. */
export type ErrorCode = Schemas['Error']['error']['code'];

/** The paths below `/v1`, as in the OpenAPI document. */
export type Path = Extract<keyof paths, `/v1/${string}`>;

/** The body of a successful response of a path. */
export type Body<P extends Path> = paths[P]['get']['responses'][200]['content']['application/json'];

/** The query parameters of a path: `updatedAt[gte]` is `updatedAt: { gte }`, and may be a `Date` as well. */
export type Query<P extends Path> = Nested<NonNullable<paths[P]['get']['parameters']['query']>>;

type Nested<Parameters> = {
  [Name in keyof Parameters as Name extends `${string}[${string}]` ? never : Name]: Parameters[Name];
} & { [Name in keyof Parameters as Name extends `${infer Field}[${string}]` ? Field : never]?: Bounds };

/** Inclusive bounds of a time: ISO 8601 or a `Date`. */
export type Bounds = { gte?: string | Date | undefined; lte?: string | Date | undefined };

export type TicketListParams = Query<'/v1/tickets'>;
export type MessageListParams = Query<'/v1/conversations/{id}/messages'>;
export type ChannelListParams = Query<'/v1/channels'>;
export type QaListParams = Query<'/v1/knowledge/qa'>;

export type RateLimit = {
  /** Requests that the key may make in one window, of which `remaining` are left. */
  limit: number;
  remaining: number;
  /** Seconds until the oldest counted request expires and one more is allowed. */
  resetSeconds: number;
};

/** Metadata of every response. */
export type Meta = {
  /** Quote it when you contact support, who can trace the request by it. */
  requestId: string;
  /** The response reflects every change up to this instant, and possibly later ones. */
  dataAsOf: Date;
  /** Null if the API does not limit requests. */
  rateLimit: RateLimit | null;
  /** Version of the response, for `ifNoneMatch`; null for very long responses, which are streamed. */
  etag: string | null;
  /** All response headers. */
  headers: Headers;
};

export type Answer<Data> = Meta & { data: Data; notModified: false };

/** One page of a list. */
export type Page<Item> = Answer<Item[]> & { hasMore: boolean; nextCursor: string | null };

/** The response to `ifNoneMatch` if the caller's version is still current. */
export type NotModified = Meta & { data: null; notModified: true };

export type RequestOptions = {
  /** Aborts the request, its retries and the waits between them. The call rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Overrides the client's timeout for this request. */
  timeoutMs?: number | undefined;
  /** Overrides the client's number of retries for this request. */
  retries?: number | undefined;
  /** Additional headers, such as `traceparent`. Headers that the client sends itself are refused. */
  headers?: Readonly<Record<string, string>> | undefined;
};

/** Options with the `etag` of the response that the caller has; null makes the request unconditional. */
export type Conditional = RequestOptions & { ifNoneMatch: string | null };
