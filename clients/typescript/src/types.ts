import type { components, paths } from './generated/openapi.ts';

type Schemas = components['schemas'];

export type Ticket = Schemas['Ticket'];
/** A ticket as a list shows it: its conversations are references. */
export type TicketItem = Schemas['TicketItem'];
export type Conversation = Schemas['Conversation'];
export type Message = Schemas['Message'];
export type Channel = Schemas['Channel'];
/** A channel as a list shows it: without settings and configuration. */
export type ChannelItem = Schemas['ChannelItem'];
export type Qa = Schemas['Qa'];

/** The codes that the API answers with; it grows with new releases, so keep a branch for others. */
export type ErrorCode = Schemas[Extract<keyof Schemas, `${string}Error`>]['code'] | (string & {});

/** The paths below `/v1`, as the document writes them. */
export type Path = Extract<keyof paths, `/v1/${string}`>;

/** What a path answers with when all is well. */
export type Body<P extends Path> = paths[P]['get']['responses'][200]['content']['application/json'];

/** The query parameters of a path: `updatedAt[gte]` is `updatedAt: { gte }`, and may be a `Date` as well. */
export type Query<P extends Path> = Nested<NonNullable<paths[P]['get']['parameters']['query']>>;

type Nested<Parameters> = {
  [Name in keyof Parameters as Name extends `${string}[${string}]` ? never : Name]: Parameters[Name];
} & {
  [Name in keyof Parameters as Name extends `${infer Field}[${string}]` ? Field : never]?: Bounds;
};

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
  /** Seconds until another one is admitted beyond those. */
  resetSeconds: number;
};

/** What comes with every answer. */
export type Meta = {
  /** Tell it to support; requests can be traced by it. */
  requestId: string;
  /** Every change made up to this instant is in the answer; later ones may be. */
  dataAsOf: Date;
  /** Null where the service does not limit requests. */
  rateLimit: RateLimit | null;
  /** Version of the answer, for `ifNoneMatch`; null on very long ones, which are streamed. */
  etag: string | null;
  /** All headers, as they came. */
  headers: Headers;
};

export type Answer<Data> = Meta & { data: Data; notModified: false };

/** One page of a list. */
export type Page<Item> = Answer<Item[]> & { hasMore: boolean; nextCursor: string | null };

/** What the caller has is still the same: the answer to `ifNoneMatch`. */
export type NotModified = Meta & { data: null; notModified: true };

export type RequestOptions = {
  /** Ends the request, its retries and the waits between them; what is thrown is the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Takes the place of the client's own limit, for this request. */
  timeoutMs?: number | undefined;
  /** Takes the place of the client's own number, for this request. */
  retries?: number | undefined;
  /** Sent as well, such as `traceparent`. Those that the client sends itself are refused. */
  headers?: Readonly<Record<string, string>> | undefined;
};

/** The `etag` of the answer that the caller has; null sends none. */
export type Conditional = RequestOptions & { ifNoneMatch: string | null };
